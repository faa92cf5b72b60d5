"""Traces as columns of numbers and names, in memory and in files."""
