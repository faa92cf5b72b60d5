"""Counts of requests by origin."""
