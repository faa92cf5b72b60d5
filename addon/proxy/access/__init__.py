"""Who may use the proxy, reach what, and how much of it."""
