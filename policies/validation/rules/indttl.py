"""Adaptive IndHist/TTL: TTL while a burst of updates lasts, else IndHist."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.intensity import TOLERANCE
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.estimates import expected_within
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_price, check_range
from bestbefore.policies.validation.machinery.tolerance import PRICE, Mass, price_for
from bestbefore.policies.validation.machinery.verdict import Decision, expires_by
from bestbefore.policies.validation.rules.indhist import IndHist, indhist_expiry_s
from bestbefore.policies.validation.rules.ttl import Ttl, quiet_since_s, ttl_expiry_s


def in_burst(features: Features, window_s: float, threshold: float) -> bool:
    """Whether f >= T, with f = seen / expected; where no update was expected, f = T if one was seen, else 0."""
    seen = features.updates_within(window_s)
    if seen == 0:
        return threshold == 0.0  # as f is 0 then, the expected number is not computed
    expected = 0.0
    if features.t - window_s > features.observed_since_s():
        expected = expected_within(features, window_s, seen)
    return seen >= threshold * (1.0 - TOLERANCE) * expected


@dataclass(frozen=True, slots=True)
class IndTtl(Formula):
    """TTL if f >= T, else IndHist on the whole history, where f compares the updates in (t-W, t] with those expected.

    The expected number is Lambda(t-W, t) under the hourly rates of the updates up to t-W, and 0 where t-W <= t_0. f is
    (a) seen / expected, (b) T if updates were seen and none was expected, (c) 0 if none was seen.
    With T = 0 the policy is TTL; with T = infinity it is IndHist, in case (b) too.

    Source: Bright, Gal, Raschid, section 6.2.1, where the window includes t-W. The comparison f >= T uses the tolerance
    of `intensity`.
    """

    name: ClassVar[str] = "indttl"
    needs: ClassVar[Needs] = Needs.COUNTS
    uses_fallback: ClassVar[bool] = True
    alternatives: ClassVar[tuple[str, ...]] = (Ttl.name, IndHist.name)

    theta: float = 0.1
    """The tolerated mass of expected updates, 0 or more."""
    alpha: float = 0.1
    """Share of the time since the last update, 0 or more."""
    window_s: float = DAY_S
    """W, 1 s or more."""
    threshold: float = 2.0
    """T, 0 or more; may be infinite."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("alpha", self.alpha)
        check_range("window", self.window_s, least=1.0)
        check_range("threshold", self.threshold, infinite=True)

    def decide(self, features: Features) -> Decision:
        if self.threshold < math.inf and in_burst(features, self.window_s, self.threshold):
            return expires_by(0, ttl_expiry_s(features, self.alpha))
        return expires_by(1, indhist_expiry_s(features, Mass(self.theta)))


@dataclass(frozen=True, slots=True)
class PricedIndTtl(Formula):
    """`IndTtl` with a price in place of theta and alpha: see `models.price`."""

    name: ClassVar[str] = IndTtl.name
    needs: ClassVar[Needs] = IndTtl.needs | Needs.DEMAND
    uses_fallback: ClassVar[bool] = True
    alternatives: ClassVar[tuple[str, ...]] = IndTtl.alternatives

    price: float = PRICE
    """The number of validations that one stale hit is worth, 0 to 1e6."""
    window_s: float = DAY_S
    """W, 1 s or more."""
    threshold: float = 2.0
    """T, 0 or more; may be infinite."""

    def __post_init__(self) -> None:
        check_price(self.price)
        check_range("window", self.window_s, least=1.0)
        check_range("threshold", self.threshold, infinite=True)

    def decide(self, features: Features) -> Decision:
        if self.threshold < math.inf and in_burst(features, self.window_s, self.threshold):
            return expires_by(0, price_for(features, self.price).waning_passage_s(features, quiet_since_s(features)))
        return expires_by(1, indhist_expiry_s(features, price_for(features, self.price)))
