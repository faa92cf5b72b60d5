"""StormCrawler: as Nutch, but a change moves the interval towards its minimum."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, HOUR_S, History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


def stormcrawler_interval_s(
    interval_s: float, changed: bool, initial_s: float, increase: float, decrease: float, min_s: float, max_s: float
) -> float:
    """The interval after `interval_s`, NaN for the first."""
    if math.isnan(interval_s):
        return initial_s
    if changed:
        return (1.0 - decrease) * interval_s + decrease * min_s
    return min((1.0 + increase) * interval_s, max_s)


@dataclass(frozen=True, slots=True)
class StormCrawler:
    """expiry = t + I, where I is the interval of this copy: `initial` at first; found changed, the weighted mean
    (1 - decrease) * I + decrease * min; found unchanged, (1 + increase) * I, at most `max`.

    Source: StormCrawler, AdaptiveScheduler.java, and its defaults (`fetchInterval.default`, `scheduler.adaptive.*`).
    There intervals are whole minutes, cut; here they are not.
    """

    name: ClassVar[str] = "stormcrawler"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.OUTCOMES

    initial_s: float = DAY_S
    increase: float = 0.5
    """0 or more."""
    decrease: float = 0.5
    """0 to 1."""
    min_s: float = HOUR_S
    max_s: float = 14 * DAY_S

    def __post_init__(self) -> None:
        check_range("initial", self.initial_s)
        check_range("increase", self.increase)
        check_range("decrease", self.decrease, most=1.0)
        check_bounds(self.min_s, self.max_s)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        interval_s, changed = (math.nan, False) if outcome is None else (outcome.state, outcome.changed)
        interval_s = stormcrawler_interval_s(
            interval_s, changed, self.initial_s, self.increase, self.decrease, self.min_s, self.max_s
        )
        return Verdict(t + interval_s, Reason.STORMCRAWLER, interval_s)
