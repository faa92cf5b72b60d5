"""Tunnels of clients: which TLS connections are intercepted, and what passes through the others."""
