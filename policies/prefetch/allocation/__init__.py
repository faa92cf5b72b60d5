"""Continuous allocation: refresh rates as real numbers."""
