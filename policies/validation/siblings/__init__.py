"""Siblings: objects of a site that are published together, so that a change of one tells of others."""
