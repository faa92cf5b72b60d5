"""An update of an object, at a known time or within an interval."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Update:
    """An update in (after_s, by_s]; both are equal if its time is exact."""

    after_s: float
    by_s: float

    @property
    def exact(self) -> bool:
        return self.after_s == self.by_s

    @property
    def point_s(self) -> float:
        return self.by_s if self.exact else (self.after_s + self.by_s) / 2

    def may_be(self, other: "Update") -> bool:
        """Whether both can be the same update."""
        if self.exact and other.exact:
            return self.by_s == other.by_s
        if self.exact or other.exact:
            point, interval = (self, other) if self.exact else (other, self)
            return interval.after_s < point.by_s <= interval.by_s
        return max(self.after_s, other.after_s) < min(self.by_s, other.by_s)

    def narrowed(self, other: "Update") -> "Update":
        """Return the update in the intersection of both intervals."""
        if self.exact:
            return self
        return other if other.exact else Update(max(self.after_s, other.after_s), min(self.by_s, other.by_s))
