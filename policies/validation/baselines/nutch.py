"""Nutch: an interval that shrinks by a factor after a change and grows by a factor otherwise."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires_keeping


@dataclass(frozen=True, slots=True)
class Nutch(Formula):
    """expiry = t + I - sync * d, where I is the interval of this copy and d = t - u_n, or 0 where no update is known.

    I starts at `initial`. A contact that finds a change multiplies I by 1 - decrease and sets d to 0; any other contact
    multiplies I by 1 + increase. If I < d, I is set to d. Then I is bounded by `min` and `max`. `sync` moves the next
    contact towards the time of the last change; with sync = 0, d is ignored.

    Source: Nutch, src/java/org/apache/nutch/crawl/AdaptiveFetchSchedule.java, with the defaults of
    conf/nutch-default.xml (`db.fetch.schedule.adaptive.*`, `db.fetch.interval.default`). An expiry before t, which a
    large d causes there (NUTCH-1564), is replaced by t.
    """

    name: ClassVar[str] = "nutch"
    needs: ClassVar[Needs] = Needs.OUTCOME

    initial_s: float = 30 * DAY_S
    increase: float = 0.4
    """0 or more."""
    decrease: float = 0.2
    """0 to 1."""
    sync: float = 0.3
    """0 to 1; 0 is Nutch's `sync_delta = false`."""
    min_s: float = 60.0
    max_s: float = 365 * DAY_S

    def __post_init__(self) -> None:
        check_range("initial", self.initial_s)
        check_range("increase", self.increase)
        check_range("decrease", self.decrease, most=1.0)
        check_range("sync", self.sync, most=1.0)
        check_bounds(self.min_s, self.max_s)

    def decide(self, features: Features) -> Decision:
        last_s = features.last_update_s()
        unchanged_s = 0.0 if features.changed or math.isnan(last_s) or self.sync == 0.0 else features.t - last_s
        interval_s = self.initial_s
        if not math.isnan(features.state):
            interval_s = features.state * (1.0 - self.decrease if features.changed else 1.0 + self.increase)
        interval_s = min(max(interval_s, unchanged_s, self.min_s), self.max_s)
        return expires_keeping(interval_s, max(features.t, features.t + interval_s - self.sync * unchanged_s))
