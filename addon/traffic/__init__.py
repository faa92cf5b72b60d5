"""The traffic log: which requests the proxy answered, kept for a time if the user wants it, and made into traces."""
