"""The traffic of one's own proxy, as the trace of a command."""
