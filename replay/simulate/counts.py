"""The counts of a replay."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Counts:
    """The outcomes of the requests of a replay. Each request is a miss, a hit or a validation."""

    misses: int
    """First requests of an object in a cache."""
    hits: int
    """Requests served from the copy without contact."""
    stale_hits: int
    """Those of the hits whose object had changed since the copy was current."""
    validations: int
    """Requests for which the origin was asked whether the copy is still current."""
    unnecessary: int
    """Those of the validations that found the object unchanged."""

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """The sum of counts of different requests."""
        rows = [(c.misses, c.hits, c.stale_hits, c.validations, c.unnecessary) for c in parts]
        return cls(*map(sum, zip(*rows, strict=True))) if rows else cls(0, 0, 0, 0, 0)

    @property
    def cached(self) -> int:
        """Requests that found a copy."""
        return self.hits + self.validations

    @property
    def requests(self) -> int:
        return self.misses + self.cached

    def by_name(self) -> dict[str, int]:
        """Return all counts under the names and in the order in which they are reported."""
        return {
            "requests": self.requests,
            "misses": self.misses,
            "cached": self.cached,
            "hits": self.hits,
            "stale_hits": self.stale_hits,
            "validations": self.validations,
            "unnecessary": self.unnecessary,
        }


@dataclass(frozen=True, slots=True)
class RefreshCounts:
    """The counts of the updates of some objects after the test start."""

    refreshes: int
    """Contacts after the first of each object, which is made at the test start and not counted."""
    updates: int
    unfetched: int
    """Those of the updates that no refresh followed, since their object was to be refreshed no more."""
    delay_s: float
    """From each fetched update to the first refresh at or after it, summed."""
    max_delay_s: float | None
    """The longest of them; None if there is none."""

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """The sum of counts of different objects."""
        parts = list(parts)
        return cls(
            sum(part.refreshes for part in parts),
            sum(part.updates for part in parts),
            sum(part.unfetched for part in parts),
            sum(part.delay_s for part in parts),
            max((part.max_delay_s for part in parts if part.max_delay_s is not None), default=None),
        )

    @property
    def mean_delay_s(self) -> float | None:
        """The mean over the fetched updates; None if there is none."""
        fetched = self.updates - self.unfetched
        return self.delay_s / fetched if fetched else None

    def by_name(self) -> dict[str, int | float | None]:
        """Return all counts under the names and in the order in which they are reported."""
        return {
            "refreshes": self.refreshes,
            "updates": self.updates,
            "unfetched": self.unfetched,
            "mean_delay_s": self.mean_delay_s,
            "max_delay_s": self.max_delay_s,
        }
