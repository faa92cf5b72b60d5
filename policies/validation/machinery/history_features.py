"""The features from the history of an object and its group, as the live proxy and the plain replay engine have them."""

import math

from bestbefore.policies.models.demand import CopyDemand, first_request
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.hazard.memory import UpdateMemory
from bestbefore.policies.models.history import History
from bestbefore.policies.models.member_rates import MemberRates
from bestbefore.policies.validation.machinery.features import RECENT_GAPS, ByBin


class HistoryFeatures:
    """The features at t from a history and a group; `Features` documents the methods."""

    __slots__ = (
        "_after_s", "_by_bin", "_demand", "_group", "_history", "changed", "least_exposure_h", "price", "state", "t",
    )

    def __init__(
        self,
        history: History,
        group: Group | None,
        t: float,
        state: float = math.nan,
        changed: bool = False,
        window_s: float = math.inf,
        least_exposure_h: float = 0.0,
        demand: CopyDemand | None = None,
        price: float = math.nan,
    ) -> None:
        self.t = t
        self.price = price
        self.state = state
        self.changed = changed
        self.least_exposure_h = least_exposure_h
        self._demand = demand
        self._history = history
        self._group = group
        self._after_s = t - window_s
        self._by_bin: ByBin | None = None

    @property
    def by_bin(self) -> ByBin:
        if self._by_bin is None:
            self._by_bin = ByBin.of_lists()
        return self._by_bin

    def known_since_s(self) -> float:
        return self._history.since_s

    def observed_since_s(self) -> float:
        return max(self._history.since_s, self._after_s)

    def last_update_s(self) -> float:
        last_s = self._history.last_update_s(self.t)
        return math.nan if last_s is None else last_s

    def next_update_s(self) -> float:
        times_s = self._history.times_s
        later = int(times_s.searchsorted(self.t, side="right"))
        return float(times_s[later]) if later < len(times_s) else math.inf

    def counted_updates(self) -> int:
        return self._history.count(self._after_s, self.t)

    def updates_within(self, window_s: float) -> int:
        return self._history.count(self.t - window_s, self.t)

    def oldest_within_s(self, window_s: float, within: int) -> float:  # noqa: ARG002
        oldest_s = self._history.first_update_s(self.t - window_s, self.t)
        return math.nan if oldest_s is None else oldest_s

    def set_counts(self) -> int:
        counts = self._history.counts(self._after_s, self.t)
        self.by_bin.counts[:] = counts
        return sum(counts)

    def set_counts_before(self, window_s: float, within: int) -> int:  # noqa: ARG002
        counts = self._history.counts(self._after_s, self.t - window_s)
        self.by_bin.counts[:] = counts
        return sum(counts)

    def set_gaps(self) -> int:
        return self._set_gaps(self._history)

    def group_since_s(self) -> float:
        if self._group is None or self._group.since_s is None:
            return math.inf
        return max(self._group.since_s, self._after_s)

    def set_group_counts(self) -> int:
        if self._group is None:
            return 0
        counts = self._group.counts(self._after_s, self.t)
        if self._group.edges_s is not self.by_bin.group_edges_s:
            self._by_bin = ByBin.of_lists(self._group.edges_s)
        self.by_bin.counts[:] = counts
        return sum(counts)

    def member_hours(self) -> float:
        return 0.0 if self._group is None else self._group.member_hours(self._after_s, self.t)

    def set_group_gaps(self) -> int:
        return 0 if self._group is None else self._set_gaps(self._group)

    def group_weekend_updates(self) -> int:
        return 0 if self._group is None else self._group.weekend_updates(self._after_s, self.t)

    def group_rate_per_s(self) -> float:
        return MemberRates().per_s() if self._group is None else self._group.rate_per_s(self.t)

    def update_memory(self) -> UpdateMemory:
        return self._history.memory_at(self.t)

    def demand(self) -> CopyDemand:
        return first_request(self.t) if self._demand is None else self._demand

    def _set_gaps(self, of: History | Group) -> int:
        latest_s = of.latest_s(self._after_s, self.t, RECENT_GAPS + 1)
        for i in range(len(latest_s) - 1):
            self.by_bin.gaps_s[i] = latest_s[i] - latest_s[i + 1]
        return max(len(latest_s) - 1, 0)
