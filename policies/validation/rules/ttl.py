"""TTL: a copy stays fresh for a fixed share of the time since the last update of its object."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_price, check_range
from bestbefore.policies.validation.machinery.tolerance import PRICE, Mass, price_for
from bestbefore.policies.validation.machinery.verdict import Decision, expires

LARGEST_THETA = 700.0
"""The largest theta, since e^710 is beyond the numbers."""


def quiet_since_s(features: Features) -> float:
    """u_n, or t_0 if no update is known."""
    last_s = features.last_update_s()
    return features.known_since_s() if math.isnan(last_s) else last_s


def ttl_expiry_s(features: Features, alpha: float) -> float:
    """t + alpha * (t - u_n)."""
    return features.t + alpha * (features.t - quiet_since_s(features))


@dataclass(frozen=True, slots=True)
class Ttl(Formula):
    """expiry = t + alpha * (t - u_n), where u_n is the last update, or t_0 if none is known.

    Source: Bright, Gal, Raschid, section 4.1. The use of t_0 for an object without updates is ours.
    """

    name: ClassVar[str] = "ttl"

    alpha: float = 0.1
    """Share of the time since the last update, 0 or more."""

    def __post_init__(self) -> None:
        check_range("alpha", self.alpha)

    def decide(self, features: Features) -> Decision:
        return expires(ttl_expiry_s(features, self.alpha))


@dataclass(frozen=True, slots=True)
class MassTtl(Formula):
    """`Ttl` with alpha = e^theta - 1: a copy stays fresh until theta updates are expected at the rate 1 / (t' - u_n).

    This is the hazard of an object that is the less likely to change the longer it has not.
    """

    name: ClassVar[str] = Ttl.name

    theta: float = 0.1
    """The tolerated mass of expected updates, 0 or more."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta, most=LARGEST_THETA)

    def decide(self, features: Features) -> Decision:
        return expires(Mass(self.theta).waning_passage_s(features, quiet_since_s(features)))


@dataclass(frozen=True, slots=True)
class PricedTtl(Formula):
    """`MassTtl` with a price in place of theta: see `models.price`."""

    name: ClassVar[str] = Ttl.name
    needs: ClassVar[Needs] = Ttl.needs | Needs.DEMAND

    price: float = PRICE
    """The number of validations that one stale hit is worth, 0 to 1e6."""

    def __post_init__(self) -> None:
        check_price(self.price)

    def decide(self, features: Features) -> Decision:
        return expires(price_for(features, self.price).waning_passage_s(features, quiet_since_s(features)))
