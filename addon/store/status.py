"""The state of the store, as values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the store, for metrics."""

    down: bool
    """The backend does not answer."""
    last_error: str
    """Why it did not the last time; empty if it always has since the start."""
    conditions: frozenset[str]
    """What holds now, of: down, unusable, unwritable, full, copies and histories (too many of them wait)."""
    pending_observations: int
    pending_copies: int
    pending_copies_bytes: int
    dropped_observations: int
    """Since the start: not kept, because too many waited."""
    write_lag_s: float
    """For how long something has waited that could not be written; 0 if no longer than usual."""
    write_errors: Mapping[str, int]
    """Single entries that could not be written, since the start, by kind."""
    corrupt_entries: Mapping[str, int]
    """Entries that the backend found corrupt since the start, by kind."""
    dropped_copies: int
    """Since the start: not kept, because the backend was full, or down for too long."""
    memory_cache_bytes: float
    store_bytes: int | None
    """By the backend, as last measured."""
