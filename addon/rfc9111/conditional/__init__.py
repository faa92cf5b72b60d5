"""Conditional requests, range requests and the responses to them (RFC 9110 13 and 14, RFC 9111 4.3)."""
