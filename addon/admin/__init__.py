"""Metrics, health page, request log and summary."""
