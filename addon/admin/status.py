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
        """What holds now: down, full, unwritable and the like, a closed set of words."""

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
        """Since the start: not kept, because too many waited."""

    @property
    def dropped_copies(self) -> int:
        """Since the start: not kept, because the backend was full or down for too long."""

    @property
    def write_lag_s(self) -> float:
        """For how long something has waited that could not be written, seconds; 0 if no longer than usual."""

    @property
    def write_errors(self) -> Mapping[str, int]:
        """Since the start: single entries that could not be written, by kind."""

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        """Since the start: what was found corrupt in the store, by kind."""

    @property
    def memory_cache_bytes(self) -> float:
        """Bytes of the copies held in the process."""

    @property
    def store_bytes(self) -> int | None:
        """Bytes kept by the backend, as last measured; None before that."""
