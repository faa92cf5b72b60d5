"""The proxy's own pages, and what a user is told of its certificates."""
