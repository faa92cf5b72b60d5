"""The traffic log: an optional record of answered requests, kept for a limited time and exported as traces."""
