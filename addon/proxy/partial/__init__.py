"""Partial responses: stored parts of contents, served, combined and completed."""
