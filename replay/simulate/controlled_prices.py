"""The prices in force in the groups of a replay, as the control of a stale rate sets them."""

import math
from collections import defaultdict
from dataclasses import dataclass

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery import control
from bestbefore.policies.validation.machinery.control import CopyControl, GroupSums
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.simulate.complete import Grouping


@dataclass(slots=True)
class _Copy:
    """A copy under control."""

    current_s: float
    control: CopyControl
    predicted: int = 0
    """The stale hits predicted since, in millionths."""


class ControlledPrices:
    """The control of each group; all caches share it."""

    def __init__(self, policy: Policy, grouping: Grouping) -> None:
        """`policy` has a target, `stale_rate`."""
        self._policy = policy
        self._grouping = grouping
        self._groups: defaultdict[str, GroupSums] = defaultdict(GroupSums)
        self._copies: dict[tuple[str, str], _Copy] = {}
        """The copies by object and partition of the cache."""

    def hit(self, name: str, partition: str, r: float) -> None:
        """Count a hit."""
        copy = self._copies[name, partition]
        stale = control.predicted_stale(copy.control.updates_per_s, r - copy.current_s)
        copy.predicted += stale
        self._group(name).add(control.period_of(r), control.of_hits(copy.control, 1, stale))

    def validated(self, name: str, partition: str, r: float, changed: bool) -> None:
        """Count a validation, and learn from it."""
        copy = self._copies[name, partition]
        amounts = control.of_validation(copy.control, r - copy.current_s, copy.predicted, changed)
        self._group(name).add(control.period_of(r), amounts)

    def price(self, name: str, partition: str, history: History, r: float) -> float:
        """Return the price in force, by which a copy that is current at r is decided."""
        sums = self._group(name)
        sums.begin(control.period_of(r))
        log_price = control.log_price(sums.rows, self._policy.stale_rate)
        rate_per_s = control.mean_rate_per_s(history.count(history.since_s, r), r - history.since_s)
        self._copies[name, partition] = _Copy(r, CopyControl(rate_per_s, control.millionths(log_price)))
        return math.exp(log_price)

    def _group(self, name: str) -> GroupSums:
        return self._groups[self._grouping.group_of(name)]
