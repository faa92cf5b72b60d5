"""Adaptive IndHist/AggHist: AggHist until the object's updates repeat in the same hours of the day, then IndHist."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_price, check_range
from bestbefore.policies.validation.machinery.tolerance import PRICE, Mass, price_for
from bestbefore.policies.validation.machinery.verdict import Decision, expires_by
from bestbefore.policies.validation.rules.agghist import AggHist, agghist_expiry_s
from bestbefore.policies.validation.rules.indhist import IndHist, indhist_expiry_s


def follows_group(features: Features, threshold: float) -> bool:
    """Whether AggHist decides: n = 0 or (distinct hour bins with an update) / n > T."""
    updates = features.set_counts()
    bins = 0
    for count in features.by_bin.counts:
        bins += count > 0
    return updates == 0 or bins / updates > threshold


@dataclass(frozen=True, slots=True)
class IndAgg(Formula):
    """AggHist if n = 0 or (distinct hour bins with an update) / n > T, else IndHist.

    Source: Bright, Gal, Raschid, section 6.1.1. With T = 1 it is IndHist wherever an update is known, with T = 0 it is
    AggHist.
    """

    name: ClassVar[str] = "indagg"
    needs: ClassVar[Needs] = Needs.COUNTS | Needs.GROUP
    uses_fallback: ClassVar[bool] = True
    alternatives: ClassVar[tuple[str, ...]] = (AggHist.name, IndHist.name)

    theta: float = 0.1
    """The tolerated mass of expected updates, 0 or more."""
    threshold: float = 0.5
    """T, from 0 to 1."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("threshold", self.threshold, most=1.0)

    def decide(self, features: Features) -> Decision:
        if follows_group(features, self.threshold):
            return expires_by(0, agghist_expiry_s(features, Mass(self.theta), 0.0))
        return expires_by(1, indhist_expiry_s(features, Mass(self.theta)))


@dataclass(frozen=True, slots=True)
class PricedIndAgg(Formula):
    """`IndAgg` with a price in place of theta: see `models.price`."""

    name: ClassVar[str] = IndAgg.name
    needs: ClassVar[Needs] = IndAgg.needs | Needs.DEMAND
    uses_fallback: ClassVar[bool] = True
    alternatives: ClassVar[tuple[str, ...]] = IndAgg.alternatives

    price: float = PRICE
    """The number of validations that one stale hit is worth, 0 to 1e6."""
    threshold: float = 0.5
    """T, from 0 to 1."""

    def __post_init__(self) -> None:
        check_price(self.price)
        check_range("threshold", self.threshold, most=1.0)

    def decide(self, features: Features) -> Decision:
        if follows_group(features, self.threshold):
            return expires_by(0, agghist_expiry_s(features, price_for(features, self.price), 0.0))
        return expires_by(1, indhist_expiry_s(features, price_for(features, self.price)))
