"""Numbers of visits: how often each object is visited, in whole numbers."""
