"""Nutch: an interval for each object that shrinks when it had changed and grows when it had not."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


def nutch_interval_s(
    interval_s: float, changed: bool, unchanged_s: float, initial_s: float, increase: float, decrease: float,
    min_s: float, max_s: float,
) -> float:
    """The interval after `interval_s`, NaN for the first; `unchanged_s` is d."""
    if math.isnan(interval_s):
        interval_s = initial_s
    elif changed:
        interval_s *= 1.0 - decrease
    else:
        interval_s *= 1.0 + increase
    return min(max(interval_s, unchanged_s, min_s), max_s)


def nutch_expiry_s(t: float, interval_s: float, unchanged_s: float, sync: float) -> float:
    """t + I - sync * d, or t if that lies before it."""
    return max(t, t + interval_s - sync * unchanged_s)


@dataclass(frozen=True, slots=True)
class Nutch:
    """expiry = t + I - sync * d, where I is the interval of this copy and d = t - u_n, or 0 where no update is known.

    I starts at `initial`. Found changed it is multiplied by 1 - decrease, and d is taken to be 0; found unchanged it is
    multiplied by 1 + increase. If I < d, it becomes d. Last it is kept between `min` and `max`. `sync` moves the next
    contact towards the time of the last change; with sync = 0 all that concerns d is left out.

    Source: Nutch, src/java/org/apache/nutch/crawl/AdaptiveFetchSchedule.java, with the defaults of
    conf/nutch-default.xml (`db.fetch.schedule.adaptive.*`, `db.fetch.interval.default`). Where d is so large that the
    expiry would lie before t (its issue NUTCH-1564), it is t.
    """

    name: ClassVar[str] = "nutch"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.OUTCOMES

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

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        interval_s, changed = (math.nan, False) if outcome is None else (outcome.state, outcome.changed)
        last_s = history.last_update_s(t)
        unchanged_s = 0.0 if changed or last_s is None or self.sync == 0.0 else t - last_s
        interval_s = nutch_interval_s(
            interval_s, changed, unchanged_s, self.initial_s, self.increase, self.decrease, self.min_s, self.max_s
        )
        return Verdict(nutch_expiry_s(t, interval_s, unchanged_s, self.sync), Reason.NUTCH, interval_s)
