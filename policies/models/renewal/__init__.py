"""Probability laws of the intervals between updates, and their fit."""
