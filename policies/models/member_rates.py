"""The typical update rate of the members of a group: the geometric mean of their own rates.

The sum of logarithms is kept in whole micro-nats, so that it does not depend on the order in which members are counted
and can lose exactly what a member contributed.
"""

import math
from typing import NamedTuple

from bestbefore.policies.units import DAY_S

NAT = 1_000_000
"""One nat, in micro-nats."""
LEAST_OBSERVED_S = 600.0
"""A member counts as observed for at least this time: two contacts within seconds show no rate of several a minute."""
LEAST_INTERVAL_S = 1.0
"""The least mean interval between updates that a member contributes."""


class MemberRates(NamedTuple):
    """The sum over the members of a group from which the mean of their rates follows."""

    members: int = 0
    micronats: int = 0
    """The sum of `log_interval_micronats` over the members."""

    def plus(self, other: "MemberRates") -> "MemberRates":
        """Return the sum over the members of both; the other may be a change."""
        return MemberRates(self.members + other.members, self.micronats + other.micronats)

    def negative(self) -> "MemberRates":
        """Return the change by which these members leave."""
        return MemberRates(-self.members, -self.micronats)

    def per_s(self) -> float:
        """Return the geometric mean of the members' rates, updates per second; one a day without members."""
        return mean_rate_per_s(self.members, self.micronats)


def mean_rate_per_s(members: int, micronats: int) -> float:
    """`MemberRates.per_s`, for compiled code."""
    return math.exp(-micronats / (NAT * members)) if members > 0 else 1.0 / DAY_S


NO_RATES = MemberRates()


def log_interval_micronats(updates: int, observed_s: float) -> int:
    """The logarithm of the mean interval between the updates of a member, in seconds, as micro-nats; never negative.

    Half an update is added, so that a member without updates has an interval too.
    """
    interval_s = max(observed_s, LEAST_OBSERVED_S) / (updates + 0.5)
    return round(NAT * math.log(max(interval_s, LEAST_INTERVAL_S)))
