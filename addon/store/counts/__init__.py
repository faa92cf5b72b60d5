"""Counts that policies read: the demand for copies, and the stale hits of groups whose price is controlled."""
