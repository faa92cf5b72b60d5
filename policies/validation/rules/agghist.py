"""AggHist: as IndHist, with the group's daily pattern scaled to the object's rate."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.estimates import set_group_pattern, set_joined_group_pattern
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_price, check_range
from bestbefore.policies.validation.machinery.tolerance import PRICE, Mass, Tolerance, price_for
from bestbefore.policies.validation.machinery.verdict import Decision, expires


def agghist_expiry_s(features: Features, tolerance: Tolerance, segment_penalty: float) -> float:
    """The moment at which the group's pattern, scaled to the object's rate, has reached what is tolerated."""
    hours = (features.t - features.observed_since_s()) / HOUR_S
    updates = features.counted_updates()
    if updates == 0 or hours <= 0.0:
        return math.inf
    group_updates = features.set_group_counts()
    if group_updates == 0 or features.group_since_s() >= features.t:
        return math.inf
    if segment_penalty == 0.0:
        set_group_pattern(features, group_updates)
        return tolerance.passage_s(features, features.by_bin.group_edges_s, features.by_bin.rates, updates / hours)
    segments = set_joined_group_pattern(features, group_updates, segment_penalty)
    return tolerance.passage_s(features, features.by_bin.edges_s, features.by_bin.rates[:segments], updates / hours)


@dataclass(frozen=True, slots=True)
class AggHist(Formula):
    """expiry = the first t' with Lambda(t, t') >= theta, where lambda_k = (n_o / h_o) * (N_k / E_k) / (N / h_g).

    The object had n_o counted updates in h_o hours; the group had N in h_g hours, N_k of them in the E_k hours of
    segment k. With h_o = h_g this is f_o * N_k / E_k, the object's share f_o = n_o / N of the group's intensity. The
    expiry is infinite if the object or its group has no update, also with theta = 0.

    The segments are those of the group, mostly the 24 hour bins; with `segment_penalty` > 0 they are joined.

    Source: Bright, Gal, Raschid, sections 3.3.1 and 4.2. Members observed for different times (h_o and h_g) and the
    method of joining segments (see `segmentation`) are ours.
    """

    name: ClassVar[str] = "agghist"
    needs: ClassVar[Needs] = Needs.COUNTS | Needs.GROUP

    theta: float = 0.1
    """The tolerated mass of expected updates, 0 or more."""
    segment_penalty: float = 0.0
    """The least gain in log-likelihood, in units of ln N, for a further segment; 0: segments are not joined."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("segment_penalty", self.segment_penalty)

    def decide(self, features: Features) -> Decision:
        return expires(agghist_expiry_s(features, Mass(self.theta), self.segment_penalty))


@dataclass(frozen=True, slots=True)
class PricedAggHist(Formula):
    """`AggHist` with a price in place of theta: see `models.price`."""

    name: ClassVar[str] = AggHist.name
    needs: ClassVar[Needs] = AggHist.needs | Needs.DEMAND

    price: float = PRICE
    """The number of validations that one stale hit is worth, 0 to 1e6."""
    segment_penalty: float = 0.0
    """As that of `AggHist`."""

    def __post_init__(self) -> None:
        check_price(self.price)
        check_range("segment_penalty", self.segment_penalty)

    def decide(self, features: Features) -> Decision:
        return expires(agghist_expiry_s(features, price_for(features, self.price), self.segment_penalty))
