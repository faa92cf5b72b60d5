"""Readers of recorded traces, and the inference of updates from access logs."""
