"""GroupGap: poll as often as something changes in the group of the object."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.estimates import median
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class GroupGap(Formula):
    """expiry = t + `factor` times the median of the last gaps between updates of the group, between `min` and `max`.

    The last 32 gaps are looked at. Without any, as there are fewer than two updates in the group, it is `max`.

    Source: our own, the simplest rule that learns of an object what it needs from others: a site that is edited now.
    """

    name: ClassVar[str] = "groupgap"
    needs: ClassVar[Needs] = Needs.GROUP

    factor: float = 1.0
    """0 or more."""
    min_s: float = 60.0
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("factor", self.factor)
        check_bounds(self.min_s, self.max_s)

    def decide(self, known: Features) -> Decision:
        gaps = known.set_group_gaps()
        if gaps == 0:
            return expires(known.t + self.max_s)
        interval_s = self.factor * median(known.by_bin.gaps_s, gaps)
        return expires(known.t + min(max(interval_s, self.min_s), self.max_s))
