"""IndHist: a copy stays fresh until theta updates are expected under the object's own hourly rates."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.estimates import set_own_rates
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_price, check_range
from bestbefore.policies.validation.machinery.tolerance import PRICE, Mass, Tolerance, price_for
from bestbefore.policies.validation.machinery.verdict import Decision, expires


def indhist_expiry_s(features: Features, tolerance: Tolerance) -> float:
    """The moment at which the object's own hourly rates have reached what is tolerated."""
    set_own_rates(features)
    return tolerance.passage_s(features, features.by_bin.hourly_s, features.by_bin.rates, 1.0)


@dataclass(frozen=True, slots=True)
class IndHist(Formula):
    """expiry = the first t' with Lambda(t, t') >= theta under the object's own hourly rates; never, if all are 0.

    With theta = 0 the expiry is t.

    Source: Bright, Gal, Raschid, sections 3.3.2 and 4.3. The paper tests each request against theta; as the mass only
    grows, the first moment at which the test fails is computed in advance. The rate of a bin is its updates over the
    hours of observation, where the paper divides by the number of days.
    """

    name: ClassVar[str] = "indhist"
    needs: ClassVar[Needs] = Needs.COUNTS
    uses_fallback: ClassVar[bool] = True

    theta: float = 0.1
    """The tolerated mass of expected updates, 0 or more."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)

    def decide(self, features: Features) -> Decision:
        return expires(indhist_expiry_s(features, Mass(self.theta)))


@dataclass(frozen=True, slots=True)
class PricedIndHist(Formula):
    """`IndHist` with a price in place of theta: see `models.price`."""

    name: ClassVar[str] = IndHist.name
    needs: ClassVar[Needs] = IndHist.needs | Needs.DEMAND
    uses_fallback: ClassVar[bool] = True

    price: float = PRICE
    """The number of validations that one stale hit is worth, 0 to 1e6."""

    def __post_init__(self) -> None:
        check_price(self.price)

    def decide(self, features: Features) -> Decision:
        return expires(indhist_expiry_s(features, price_for(features, self.price)))
