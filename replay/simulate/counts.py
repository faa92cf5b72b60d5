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
    """Hits whose object had changed since the copy was last known to be current."""
    validations: int
    """Requests for which the copy was validated with the origin."""
    unnecessary: int
    """Validations that found the object unchanged."""

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
        """Return all counts with the names and in the order of reports."""
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
    """The counts of refreshes without requests, for some objects after the test start."""

    refreshes: int
    """Contacts, without the first one of each object at the test start."""
    updates: int
    """Updates after the first contact of their object."""
    unfetched: int
    """Updates that no refresh followed, since the policy ended the refreshes of their object."""
    delay_s: float
    """The sum of the times from each fetched update to the first refresh at or after it."""
    max_delay_s: float | None
    """The longest of these times; None if no update was fetched."""

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
        """The mean delay of a fetched update; None if no update was fetched."""
        fetched = self.updates - self.unfetched
        return self.delay_s / fetched if fetched else None

    def by_name(self) -> dict[str, int | float | None]:
        """Return all counts with the names and in the order of reports."""
        return {
            "refreshes": self.refreshes,
            "updates": self.updates,
            "unfetched": self.unfetched,
            "mean_delay_s": self.mean_delay_s,
            "max_delay_s": self.max_delay_s,
        }
