"""How often each object is visited, in whole numbers."""
