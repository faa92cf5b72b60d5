"""Adaptive IndHist/TTL: TTL while a burst of updates lasts, else IndHist."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.intensity import TOLERANCE
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.estimates import expected_within
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires_by
from bestbefore.policies.validation.rules.indhist import IndHist, indhist_expiry_s
from bestbefore.policies.validation.rules.ttl import Ttl, ttl_expiry_s


def in_burst(known: Features, window_s: float, threshold: float) -> bool:
    """Whether f >= T, with f = seen / expected; where nothing was expected, f = T if an update was seen, else 0."""
    seen = known.updates_within(window_s)
    expected = 0.0
    # Of nothing seen it does not matter what was expected.
    if seen and known.t - window_s > known.observed_since_s():
        expected = expected_within(known, window_s, seen)
    ratio = threshold if seen else 0.0
    if expected > 0.0:
        ratio = seen / expected
    return ratio >= threshold * (1.0 - TOLERANCE)


@dataclass(frozen=True, slots=True)
class IndTtl(Formula):
    """TTL if f >= T, else IndHist on the whole history, where f compares the updates in (t-W, t] with those expected.

    Expected is Lambda(t-W, t) under the hourly rates of the updates up to t-W, and 0 where t-W <= t_0. Then f is
    (a) seen / expected, (b) T, if updates were seen and none was expected, (c) 0, if none was seen either.
    T = 0 is TTL; T = infinity is IndHist, in case (b) too.

    Source: Bright, Gal, Raschid, section 6.2.1, where the window includes t-W. f = T holds up to the tolerance of
    `intensity`, which the paper has no need of.
    """

    name: ClassVar[str] = "indttl"
    needs: ClassVar[Needs] = Needs.COUNTS
    wants_fallback: ClassVar[bool] = True
    chosen: ClassVar[tuple[str, ...]] = (Ttl.name, IndHist.name)

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

    def decide(self, known: Features) -> Decision:
        if self.threshold < math.inf and in_burst(known, self.window_s, self.threshold):
            return expires_by(0, ttl_expiry_s(known, self.alpha))
        return expires_by(1, indhist_expiry_s(known, self.theta))
