"""The state of the store as the metrics and the health page tell it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """A moment of the store."""

    away: bool
    """Whether the backend cannot be reached: the proxy serves and learns in memory."""
    copies: int
    """Copies stored."""
    copy_bytes: int
    """Bytes of their content."""
    hot_bytes: int
    """Bytes of the copies held in the process."""
    queued_writes: int
    """Writes that wait for the backend."""
    dropped_writes: int
    """Writes given up since the start: the queue was full."""
