"""The comparison of policies over traces, caches and histories, at equal stale rates."""
