"""Estimates of an object's rate of change from the outcomes of contacts with its origin."""
