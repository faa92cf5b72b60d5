"""The state of the store that metrics show."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol


class StoreStatus(Protocol):
    """The state of the store at one moment."""

    @property
    def down(self) -> bool:
        """Whether the backend does not answer: the proxy serves and learns in memory."""

    @property
    def conditions(self) -> AbstractSet[str]:
        """The conditions that hold now, such as down, full or unwritable: a closed set of words."""

    @property
    def pending_observations(self) -> int:
        """Observations that wait to be written."""

    @property
    def pending_copies(self) -> int:
        """Copies that wait to be written."""

    @property
    def pending_copies_bytes(self) -> int:
        """Bytes of the copies that wait to be written."""

    @property
    def dropped_observations(self) -> int:
        """The number of observations not kept because too many waited, since the start."""

    @property
    def dropped_copies(self) -> int:
        """The number of copies not kept because the backend was full or down for too long, since the start."""

    @property
    def write_lag_s(self) -> float:
        """Seconds for which something has waited that could not be written; 0 if no longer than usual."""

    @property
    def write_errors(self) -> Mapping[str, int]:
        """Single entries that could not be written, by kind, since the start."""

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        """Corrupt entries found in the store, by kind, since the start."""

    @property
    def memory_cache_bytes(self) -> float:
        """Bytes of the copies held in the process."""

    @property
    def store_bytes(self) -> int | None:
        """Bytes kept by the backend, as last measured; None before that."""
