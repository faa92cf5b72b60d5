"""Requests, updates and what is learnt of them, laid out as arrays."""
