"""The proxy's own pages, and its certificates for users."""
