"""Adaptive IndHist/AggHist: the group's pattern until the object's own updates repeat the hours of their day."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.policies.validation.rules.indhist import IndHist


def follows_group(bins_with_update: int, updates: int, threshold: float) -> bool:
    """Whether an object takes the pattern of its group, with this many counted updates in this many hour bins."""
    return updates == 0 or bins_with_update / updates > threshold


@dataclass(frozen=True, slots=True)
class IndAgg:
    """AggHist if n = 0 or (distinct hour bins with an update) / n > T, else IndHist.

    Source: Bright, Gal, Raschid, section 6.1.1. With T = 1 it is IndHist wherever an update is known, with T = 0 it is
    AggHist.
    """

    name: ClassVar[str] = "indagg"
    wants_fallback: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs.PAST

    theta: float = 0.1
    """Expected updates that are tolerated, 0 or more."""
    threshold: float = 0.5
    """T, from 0 to 1."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)
        check_range("threshold", self.threshold, most=1.0)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        counts = history.counts(history.counted_after_s, t)
        if follows_group(len(counts) - counts.count(0), sum(counts), self.threshold):
            return AggHist(self.theta).verdict(history, group, t)
        return IndHist(self.theta).verdict(history, group, t)
