"""The web pages on the admin address: what the proxy knows and does, for people."""
