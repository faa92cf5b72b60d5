"""The inference of updates from an access log."""
