"""Miniflux: as many polls a week as there were updates during the last week."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires

WEEK_S = 7 * DAY_S


@dataclass(frozen=True, slots=True)
class Miniflux(Formula):
    """expiry = t + 7 days / (n * factor), within `min` and `max`, for n updates in the last 7 days; n = 0: `max`.

    Source: Miniflux, internal/model/feed.go, ScheduleNextCheck with the scheduler `entry_frequency`, and its defaults.
    Later versions take for n a week over the mean distance of the entries, which is more for a new feed. The times that
    a feed or its server asks for (ttl, Retry-After) are left out.
    """

    name: ClassVar[str] = "miniflux"
    needs: ClassVar[Needs] = Needs.COUNTS

    factor: float = 1.0
    """Polls per entry, 0 or more."""
    min_s: float = 300.0
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("factor", self.factor)
        check_bounds(self.min_s, self.max_s)

    def decide(self, features: Features) -> Decision:
        polls = features.updates_within(WEEK_S) * self.factor
        interval_s = max(WEEK_S / polls, self.min_s) if polls > 0.0 else self.max_s
        return expires(features.t + min(interval_s, self.max_s))
