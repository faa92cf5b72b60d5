"""The state of the store as the metrics tell it."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol


class StoreStatus(Protocol):
    """A moment of the store."""

    @property
    def away(self) -> bool:
        """Whether the backend does not answer: the proxy serves and learns in memory."""

    @property
    def conditions(self) -> AbstractSet[str]:
        """What holds now: away, full, unwritable and the like, a closed set of words."""

    @property
    def waiting_observations(self) -> int:
        """Observations that wait to be written."""

    @property
    def waiting_copies(self) -> int:
        """Copies that wait to be written."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes of those copies."""

    @property
    def lost_observations(self) -> int:
        """Since the start: not kept, because too many waited."""

    @property
    def refused_copies(self) -> int:
        """Since the start: not kept, because the backend was full or away for too long."""

    @property
    def late_s(self) -> float:
        """For how long something has waited that could not be written, seconds; 0 if no longer than usual."""

    @property
    def set_aside(self) -> Mapping[str, int]:
        """Since the start: what could not be written for itself, by kind, a closed set of words."""

    @property
    def damaged(self) -> Mapping[str, int]:
        """Since the start: what was found damaged in the store, likewise."""

    @property
    def hot_bytes(self) -> float:
        """Bytes of the copies held in the process."""

    @property
    def kept_bytes(self) -> int | None:
        """Bytes kept by the backend, as last measured; None before that."""
