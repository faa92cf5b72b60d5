"""Adaptive IndHist/TTL: TTL while a burst of updates lasts, else IndHist."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, History
from bestbefore.policies.models.intensity import HOURLY_S, TOLERANCE, mass
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.policies.validation.rules.indhist import IndHist, individual_rates_per_hour
from bestbefore.policies.validation.rules.ttl import Ttl


def in_burst(seen: int, expected: float, threshold: float) -> bool:
    """Whether f >= T, with f = seen / expected; where nothing was expected, f = T if an update was seen, else 0."""
    ratio = threshold if seen else 0.0
    if expected > 0.0:
        ratio = seen / expected
    return ratio >= threshold * (1.0 - TOLERANCE)


@dataclass(frozen=True, slots=True)
class IndTtl:
    """TTL if f >= T, else IndHist on the whole history, where f compares the updates in (t-W, t] with those expected.

    Expected is Lambda(t-W, t) under the hourly rates of the updates up to t-W, and 0 where t-W <= t_0. Then f is
    (a) seen / expected, (b) T, if updates were seen and none was expected, (c) 0, if none was seen either.
    T = 0 is TTL; T = infinity is IndHist, in case (b) too.

    Source: Bright, Gal, Raschid, section 6.2.1, where the window includes t-W. f = T holds up to the tolerance of
    `intensity`, which the paper has no need of.
    """

    name: ClassVar[str] = "indttl"
    wants_fallback: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs.PAST

    theta: float = 0.1
    """Expected updates that are tolerated, 0 or more."""
    alpha: float = 0.1
    """Share of the time since the last update, 0 or more."""
    window_s: float = DAY_S
    """W, more than 0."""
    threshold: float = 2.0
    """T, 0 or more; may be infinite."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("alpha", self.alpha)
        check_range("window", self.window_s, least=1.0)
        check_range("threshold", self.threshold, infinite=True)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        if self.threshold < math.inf and self._in_burst(history, t):
            return Ttl(self.alpha).verdict(history, group, t)
        return IndHist(self.theta).verdict(history, group, t)

    def _in_burst(self, history: History, t: float) -> bool:
        start_s = t - self.window_s
        seen = history.count(start_s, t)
        expected = 0.0
        if start_s > history.observed_since_s:
            expected = mass(HOURLY_S, individual_rates_per_hour(history, start_s), start_s, t)
        return in_burst(seen, expected, self.threshold)
