"""How often each object is refreshed, in real numbers."""
