"""Requests, updates and observations as arrays for the kernels."""
