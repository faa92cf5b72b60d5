"""StormCrawler: as Nutch, but a change moves the interval towards its minimum."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires_keeping


@dataclass(frozen=True, slots=True)
class StormCrawler(Formula):
    """expiry = t + I, where I is the interval of this copy.

    I starts at `initial`. A contact that finds a change makes it (1 - decrease) * I + decrease * min, any other contact
    (1 + increase) * I, at most `max`.

    Source: StormCrawler, AdaptiveScheduler.java, and its defaults (`fetchInterval.default`, `scheduler.adaptive.*`).
    There intervals are rounded down to whole minutes; here they are not.
    """

    name: ClassVar[str] = "stormcrawler"
    needs: ClassVar[Needs] = Needs.OUTCOME

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

    def decide(self, features: Features) -> Decision:
        interval_s = self.initial_s
        if not math.isnan(features.state):
            if features.changed:
                interval_s = (1.0 - self.decrease) * features.state + self.decrease * self.min_s
            else:
                interval_s = min((1.0 + self.increase) * features.state, self.max_s)
        return expires_keeping(interval_s, features.t + interval_s)
