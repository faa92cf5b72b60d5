"""Requests that share one contact with the origin, and what is known of those that cannot."""
