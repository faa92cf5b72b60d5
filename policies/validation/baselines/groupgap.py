"""GroupGap: an interval proportional to the median gap between the updates of the object's group."""

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
    """expiry = t + `factor` times the median of the last 32 gaps between updates of the group, within `min` and `max`.

    The interval is `max` where the group has fewer than two updates. There is no fallback: it would decide for objects
    with few updates of their own, which are to follow the group at once.

    Source: our own, the simplest rule that learns from the group alone. It follows a site that is being edited.
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

    def decide(self, features: Features) -> Decision:
        gaps = features.set_group_gaps()
        if gaps == 0:
            return expires(features.t + self.max_s)
        interval_s = self.factor * median(features.by_bin.gaps_s, gaps)
        return expires(features.t + min(max(interval_s, self.min_s), self.max_s))
