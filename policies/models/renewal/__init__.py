"""Laws of the intervals between updates."""
