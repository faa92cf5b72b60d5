"""The interface of the store's status, for metrics."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol


class StoreStatus(Protocol):
    """The status of the store at one moment."""

    @property
    def down(self) -> bool:
        """Whether the backend does not answer: the proxy serves and learns in memory."""

    @property
    def conditions(self) -> AbstractSet[str]:
        """The present conditions, such as down, full or unwritable: a closed set."""

    @property
    def pending_observations(self) -> int:
        """The number of pending observations."""

    @property
    def pending_copies(self) -> int:
        """The number of pending copies."""

    @property
    def pending_copies_bytes(self) -> int:
        """The size of the pending copies."""

    @property
    def dropped_observations(self) -> int:
        """The number of observations dropped since the start, because too many were pending."""

    @property
    def dropped_copies(self) -> int:
        """The number of copies dropped since the start, because the backend was full, or down for too long."""

    @property
    def write_lag_s(self) -> float:
        """How long pending entries could not be written, s; 0 if not longer than usual."""

    @property
    def write_errors(self) -> Mapping[str, int]:
        """The number of entries that could not be written since the start, by kind."""

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        """The number of corrupt entries found since the start, by kind."""

    @property
    def memory_cache_bytes(self) -> float:
        """The size of the copies in memory."""

    @property
    def store_bytes(self) -> int | None:
        """The size of the stored data, as last measured by the backend; None before that."""
