"""Decisions on partial responses: stored parts of contents."""
