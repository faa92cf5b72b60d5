"""Connections of redis-py's pool that are kept, for less work at each pipeline."""
