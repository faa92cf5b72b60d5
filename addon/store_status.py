"""The status of the store, which the store fills in and metrics show."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The status of the store at one moment."""

    down: bool
    """Whether the backend does not answer: the proxy serves and learns in memory."""
    last_error: str
    """Why the backend did not answer the last time; empty if it always has."""
    conditions: frozenset[str]
    """The present conditions, of: down, unusable, unwritable, full, copies and histories (too many are pending)."""
    pending_observations: int
    pending_copies: int
    pending_copies_bytes: int
    dropped_observations: int
    """Observations not stored since the start, because too many were pending."""
    write_lag_s: float
    """How long pending entries could not be written; 0 if not longer than usual."""
    write_errors: Mapping[str, int]
    """How many entries could not be written since the start, by kind."""
    corrupt_entries: Mapping[str, int]
    """How many corrupt entries were found since the start, by kind."""
    dropped_copies: int
    """Copies not stored since the start, because the backend was full, or down for too long."""
    memory_cache_bytes: float
    store_bytes: int | None
    """The size of the stored data, as last measured by the backend; None before that."""
