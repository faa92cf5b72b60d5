"""Rates of change, estimated from what contacts show."""
