"""What a replay counts."""

from dataclasses import dataclass


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

    @property
    def cached(self) -> int:
        """Requests that found a copy."""
        return self.hits + self.validations

    @property
    def requests(self) -> int:
        return self.misses + self.cached

    def by_name(self) -> dict[str, int]:
        """All counts under the names and in the order in which they are reported."""
        return {
            "requests": self.requests,
            "misses": self.misses,
            "cached": self.cached,
            "hits": self.hits,
            "stale_hits": self.stale_hits,
            "validations": self.validations,
            "unnecessary": self.unnecessary,
        }
