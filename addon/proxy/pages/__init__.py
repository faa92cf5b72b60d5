"""The proxy's own pages, and the certificates that its users need."""
