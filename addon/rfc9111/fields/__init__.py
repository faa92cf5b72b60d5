"""Header fields: how each is read and written, and which belong to one connection only."""
