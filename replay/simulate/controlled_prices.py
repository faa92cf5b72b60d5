"""The prices in force in the groups of a replay, as the control of a stale rate sets them."""

import math
from collections import defaultdict

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery import control
from bestbefore.policies.validation.machinery.control import CopyControl, GroupControl
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.simulate.complete import Grouping


class ControlledPrices:
    """The control of each group; all caches share it."""

    def __init__(self, policy: Policy, grouping: Grouping) -> None:
        """`policy` has a target, `stale_rate`."""
        self._policy = policy
        self._grouping = grouping
        self._groups: defaultdict[str, GroupControl] = defaultdict(GroupControl)
        self._copies: dict[tuple[str, str], CopyControl] = {}
        """The copies by object and partition of the cache."""
        self._hits_s: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        """The times of the hits of a copy since its last contact."""

    def hit(self, name: str, partition: str, r: float) -> None:
        """Count a hit."""
        copy, group = self._copies[name, partition], self._grouping.group_of(name)
        counted = control.requested(self._groups[group], copy, r)
        self._groups[group], self._copies[name, partition] = control.hit(counted, copy, r)
        self._hits_s[name, partition].append(r)

    def validated(self, name: str, partition: str, r: float, changed_s: float | None) -> None:
        """Count a validation, and learn from it.

        `changed_s`: the last update that it found; NaN: its time is not known; None: the object is unchanged.
        """
        copy, group = self._copies[name, partition], self._grouping.group_of(name)
        counted = control.requested(self._groups[group], copy, r)
        hits_s = self._hits_s.pop((name, partition), ())
        stale = 0.0 if changed_s is None else control.stale_hits(copy, r, hits_s, changed_s)
        self._groups[group] = control.validated(counted, copy, stale)

    def policy(self, name: str, partition: str, history: History, r: float) -> Policy:
        """Return the policy at the price in force, by which a copy that is current at r is decided."""
        log_price = control.log_price(self._groups[self._grouping.group_of(name)], self._policy.stale_rate)
        rate_per_s = control.mean_rate_per_s(history.count(history.since_s, r), r - history.since_s)
        self._copies[name, partition] = CopyControl(r, rate_per_s, log_price)
        return self._policy.at_price(math.exp(log_price))
