"""AIMD: an interval with additive increase while unchanged and multiplicative decrease after a change."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires_keeping


@dataclass(frozen=True, slots=True)
class Aimd(Formula):
    """expiry = t + I, where I is the interval of this copy.

    I starts at `min`. A contact that finds a change makes it factor * I, any other contact I + step, within `min` and
    `max`.

    Source: feedspool, plugins/poll_schedule_vary.py, with the defaults of conf/feedspool.conf.
    """

    name: ClassVar[str] = "aimd"
    needs: ClassVar[Needs] = Needs.OUTCOME

    step_s: float = 1800.0
    """0 or more, finite."""
    factor: float = 0.5
    """0 to 1."""
    min_s: float = HOUR_S
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("step", self.step_s)
        check_range("factor", self.factor, most=1.0)
        check_bounds(self.min_s, self.max_s)

    def decide(self, features: Features) -> Decision:
        interval_s = self.min_s
        if not math.isnan(features.state):
            interval_s = features.state * self.factor if features.changed else features.state + self.step_s
            interval_s = min(max(interval_s, self.min_s), self.max_s)
        return expires_keeping(interval_s, features.t + interval_s)
