"""The tolerances of a policy, under which the mass of its hazard makes a copy expire: a mass, or a price.

All have the same methods, as far as they are used. Compiled code selects them by class, so that a mass costs nothing
for what a price needs.
"""

import math
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from bestbefore.policies.models.demand import RequestRates, rates_at
from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.models.price import priced_mass, priced_passage_s, priced_waning_passage_s
from bestbefore.policies.validation.machinery.features import Features

PRICE = 3.0
"""The price where none is given."""


class Share(NamedTuple):
    """The copy expires after a share of the time since the last update."""

    alpha: float

    def in_force(self, features: Features) -> "Share":  # noqa: ARG002
        """The tolerance at a decision."""
        return self

    def waning_passage_s(self, features: Features, since_s: float) -> float:
        """The expiry of an object that last changed at `since_s`."""
        return features.t + self.alpha * (features.t - since_s)


class Mass(NamedTuple):
    """The copy expires when theta updates are expected."""

    theta: float

    def in_force(self, features: Features) -> "Mass":  # noqa: ARG002
        return self

    def passage_s(
        self, features: Features, edges_s: Sequence[float], rates_per_hour: MutableSequence[float], scale: float
    ) -> float:
        """The expiry where `scale` times these rates hold in the segments of the day; see `intensity`."""
        # Rates `scale` times as high have the mass theta when the given ones have the mass theta / scale.
        return first_passage_s(edges_s, rates_per_hour, features.t, self.theta / scale)

    def waning_passage_s(self, features: Features, since_s: float) -> float:
        """The expiry where the rate is 1 / (time since `since_s`)."""
        return features.t + math.expm1(self.theta) * (features.t - since_s)

    def request_rates(self, features: Features) -> RequestRates:  # noqa: ARG002
        """The rates of requests that `mass_at` takes."""
        return RequestRates(0.0, 0.0, 1.0)

    def mass_at(self, requests: RequestRates, later_s: float, updates_per_s: float) -> float:  # noqa: ARG002
        """The mass tolerated `later_s` seconds after t, where updates are expected at this rate."""
        return self.theta


class Price(NamedTuple):
    """The copy expires when that costs least: a stale hit costs as much as `price` validations. See `models.price`."""

    price: float

    def in_force(self, features: Features) -> "Price":
        """That of the control of a stale rate, where there is one."""
        return price_for(features, self.price)

    def passage_s(
        self, features: Features, edges_s: Sequence[float], rates_per_hour: MutableSequence[float], scale: float
    ) -> float:
        for k in range(len(rates_per_hour)):
            rates_per_hour[k] *= scale
        return priced_passage_s(edges_s, rates_per_hour, features.t, self.price, self.request_rates(features))

    def waning_passage_s(self, features: Features, since_s: float) -> float:
        return priced_waning_passage_s(features.t, features.t - since_s, self.price, self.request_rates(features))

    def request_rates(self, features: Features) -> RequestRates:
        return rates_at(features.demand(), features.t)

    def mass_at(self, requests: RequestRates, later_s: float, updates_per_s: float) -> float:
        return priced_mass(self.price, requests, later_s, updates_per_s)


def price_for(features: Features, own: float) -> Price:
    """The price in force at a decision: that of the control of a stale rate, or else the policy's own."""
    return Price(own if math.isnan(features.price) else features.price)


type Tolerance = Mass | Price
