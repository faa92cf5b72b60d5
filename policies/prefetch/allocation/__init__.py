"""Refresh rates in real numbers."""
