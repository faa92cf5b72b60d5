"""AggHist: as IndHist, with the daily pattern of a group at the object's share of its updates."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.estimates import set_group_pattern, set_joined_group_pattern
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


def agghist_expiry_s(known: Features, theta: float, segment_penalty: float) -> float:
    """The first t' with Lambda(t, t') >= theta under the group's pattern at the object's own rate."""
    hours = (known.t - known.observed_since_s()) / HOUR_S
    updates = known.counted_updates()
    if updates == 0 or hours <= 0.0:
        return math.inf
    group_updates = known.set_group_counts()
    if group_updates == 0 or known.group_since_s() >= known.t:
        return math.inf
    # lambda_k = (n_o / h_o) * s_k has the mass theta when the pattern s_k has the mass theta / (n_o / h_o).
    share = theta / (updates / hours)
    if segment_penalty == 0.0:
        set_group_pattern(known, group_updates)
        return first_passage_s(known.by_bin.group_edges_s, known.by_bin.rates, known.t, share)
    segments = set_joined_group_pattern(known, group_updates, segment_penalty)
    return first_passage_s(known.by_bin.edges_s, known.by_bin.rates[:segments], known.t, share)


@dataclass(frozen=True, slots=True)
class AggHist(Formula):
    """expiry = the first t' with Lambda(t, t') >= theta, where lambda_k = (n_o / h_o) * (N_k / E_k) / (N / h_g).

    n_o updates of the object were counted in h_o hours; N of the group in h_g hours, N_k of them in the E_k hours of
    segment k. With h_o = h_g this is f_o * N_k / E_k, the object's share f_o = n_o / N of the group's intensity.
    Never, if the object or its group has no update, whatever theta is.

    The segments are those of the group, the 24 hours, or as many of those joined as `segment_penalty` says.

    Source: Bright, Gal, Raschid, sections 3.3.1 and 4.2. Objects observed for different times are ours, and so is the
    way to find unequal segments (see `segmentation`).
    """

    name: ClassVar[str] = "agghist"
    needs: ClassVar[Needs] = Needs.COUNTS | Needs.GROUP

    theta: float = 0.1
    """Expected updates that are tolerated, 0 or more."""
    segment_penalty: float = 0.0
    """The gain in log-likelihood, in units of ln N, that a further segment must be worth; 0: all segments apart."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("segment_penalty", self.segment_penalty)

    def decide(self, known: Features) -> Decision:
        return expires(agghist_expiry_s(known, self.theta, self.segment_penalty))
