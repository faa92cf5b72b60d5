"""AggHist: as IndHist, with the daily pattern of a group at the object's share of its updates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import HOUR_S, History
from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class AggHist:
    """expiry = the first t' with Lambda(t, t') >= theta, where lambda_k = (n_o / h_o) * (N_k / E_k) / (N / h_g).

    n_o updates of the object were counted in h_o hours; N of the group in h_g hours, N_k of them in the E_k hours of
    segment k. With h_o = h_g this is f_o * N_k / E_k, the object's share f_o = n_o / N of the group's intensity.
    Never, if the object or its group has no update, whatever theta is.

    The segments are those of the group, the 24 hours, or as many of those joined as `segment_penalty` says.

    Source: Bright, Gal, Raschid, sections 3.3.1 and 4.2. Objects observed for different times are ours, and so is the
    way to find unequal segments (see `segmentation`).
    """

    name: ClassVar[str] = "agghist"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    theta: float = 0.1
    """Expected updates that are tolerated, 0 or more."""
    segment_penalty: float = 0.0
    """The gain in log-likelihood, in units of ln N, that a further segment must be worth; 0: all segments apart."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("segment_penalty", self.segment_penalty)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        hours = (t - history.observed_since_s) / HOUR_S
        updates = history.count(history.counted_after_s, t)
        if group is None or updates == 0 or hours <= 0.0:
            return Verdict(math.inf, Reason.AGGHIST)
        edges_s, pattern = self._pattern(history, group, t)
        if pattern is None:
            return Verdict(math.inf, Reason.AGGHIST)
        # lambda_k = (n_o / h_o) * s_k has the mass theta when the pattern s_k has the mass theta / (n_o / h_o).
        return Verdict(first_passage_s(edges_s, pattern, t, self.theta / (updates / hours)), Reason.AGGHIST)

    def _pattern(self, history: History, group: Group, t: float) -> tuple[Sequence[float], list[float] | None]:
        """The edges of the segments, and s_k."""
        after_s, least_h = history.counted_after_s, history.least_exposure_h
        if self.segment_penalty == 0.0:
            return group.edges_s, group.pattern(after_s, t, least_h)
        return group.optimal_pattern(after_s, t, least_h, self.segment_penalty) or (group.edges_s, None)
