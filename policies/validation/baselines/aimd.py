"""AIMD: an interval that grows by steps and shrinks by a factor."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, HOUR_S, History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


def aimd_interval_s(
    interval_s: float, changed: bool, step_s: float, factor: float, min_s: float, max_s: float
) -> float:
    """The interval after `interval_s`, NaN for the first."""
    if math.isnan(interval_s):
        return min_s
    return min(max(interval_s * factor if changed else interval_s + step_s, min_s), max_s)


@dataclass(frozen=True, slots=True)
class Aimd:
    """expiry = t + I, where I is the interval of this copy: `min` at first; found changed, factor * I; found unchanged,
    I + step; kept between `min` and `max`.

    Source: feedspool, plugins/poll_schedule_vary.py, with the defaults of conf/feedspool.conf.
    """

    name: ClassVar[str] = "aimd"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.OUTCOMES

    step_s: float = 1800.0
    factor: float = 0.5
    """0 to 1."""
    min_s: float = HOUR_S
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("step", self.step_s)
        check_range("factor", self.factor, most=1.0)
        check_bounds(self.min_s, self.max_s)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        interval_s, changed = (math.nan, False) if outcome is None else (outcome.state, outcome.changed)
        interval_s = aimd_interval_s(interval_s, changed, self.step_s, self.factor, self.min_s, self.max_s)
        return Verdict(t + interval_s, Reason.AIMD, interval_s)
