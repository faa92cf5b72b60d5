"""The features of an object with a complete history in a packed trace, compiled unchanged by `compiled`."""

import math
from typing import NamedTuple

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import rate_of_levels_per_s
from bestbefore.policies.models.hazard.memory import UpdateMemory
from bestbefore.policies.models.member_rates import mean_rate_per_s
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.features import RECENT_GAPS, ByBin
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.memories import memory_in
from bestbefore.replay.kernels.lookup import first_after, first_of_owner_after, set_counts


class CompleteFeatures(NamedTuple):
    """The features at t of an object with a complete history; `Features` documents the methods.

    Updates are given by their indices in `Packed`.
    """

    t: float
    state: float
    changed: bool
    price: float
    least_exposure_h: float
    by_bin: ByBin
    known: PackedHistories
    owner: int
    """The owner of the object's updates in `known.objects`."""
    group: int
    """The owner of its group's updates in `known.groups`."""
    first: int
    """The first update of the object."""
    counted: int
    """The first counted update."""
    seen: int
    """The first update after t."""
    last: int
    """The first update of the next owner."""
    after_s: float
    """The beginning of the history window, exclusive."""
    asked: CopyDemand
    """The requests for the copy, if the policy reads them."""

    def known_since_s(self) -> float:
        return self.known.since_s

    def observed_since_s(self) -> float:
        return max(self.known.since_s, self.after_s)

    def last_update_s(self) -> float:
        if self.seen == self.first:
            return math.nan
        return float(self.known.objects.times_s[self.seen - 1])

    def next_update_s(self) -> float:
        if self.seen == self.last:
            return math.inf
        return float(self.known.objects.times_s[self.seen])

    def counted_updates(self) -> int:
        return self.seen - self.counted

    def updates_within(self, window_s: float) -> int:
        return self.seen - first_after(self.known.objects.times_s, self.first, self.seen, self.t - window_s)

    def oldest_within_s(self, window_s: float, within: int) -> float:  # noqa: ARG002
        return float(self.known.objects.times_s[self.seen - within])

    def set_counts(self) -> int:
        counts, since_s = self.by_bin.counts, self.observed_since_s()
        set_counts(counts, self.known.objects, self.owner, self.counted, since_s, self.seen, self.t)
        return self.seen - self.counted

    def set_counts_before(self, window_s: float, within: int) -> int:
        counts, since_s, end = self.by_bin.counts, self.observed_since_s(), self.seen - within
        set_counts(counts, self.known.objects, self.owner, self.counted, since_s, end, self.t - window_s)
        return end - self.counted

    def set_gaps(self) -> int:
        times_s = self.known.objects.times_s
        gaps = min(max(self.seen - self.counted - 1, 0), RECENT_GAPS)
        for i in range(gaps):
            self.by_bin.gaps_s[i] = times_s[self.seen - 1 - i] - times_s[self.seen - 2 - i]
        return gaps

    def group_since_s(self) -> float:
        return max(self.known.since_s, self.after_s)

    def set_group_counts(self) -> int:
        groups = self.known.groups
        start = first_of_owner_after(groups, self.group, self.after_s)
        end = first_of_owner_after(groups, self.group, self.t)
        if start < end:
            set_counts(self.by_bin.counts, groups, self.group, start, self.group_since_s(), end, self.t)
        return end - start

    def member_hours(self) -> float:
        hours: float = self.known.members[self.group] * (self.t - self.group_since_s()) / HOUR_S
        return hours

    def set_group_gaps(self) -> int:
        times_s = self.known.groups.times_s
        start = first_of_owner_after(self.known.groups, self.group, self.after_s)
        end = first_of_owner_after(self.known.groups, self.group, self.t)
        gaps = min(max(end - start - 1, 0), RECENT_GAPS)
        for i in range(gaps):
            self.by_bin.gaps_s[i] = times_s[end - 1 - i] - times_s[end - 2 - i]
        return gaps

    def group_weekend_updates(self) -> int:
        start = first_of_owner_after(self.known.groups, self.group, self.after_s)
        end = first_of_owner_after(self.known.groups, self.group, self.t)
        return int(self.known.weekends[end] - self.known.weekends[start])

    def group_rate_per_s(self) -> float:
        members, groups = self.known.members[self.group], self.known.groups
        hours = members * (self.t - self.known.since_s) / HOUR_S
        if hours <= 0.0:
            return mean_rate_per_s(0, 0)
        end = first_of_owner_after(groups, self.group, self.t)
        levels = self.known.levels[end] - self.known.levels[groups.firsts[self.group]]
        return rate_of_levels_per_s(levels, members, hours)

    def update_memory(self) -> UpdateMemory:
        return memory_in(self.known.memories, self.seen + self.owner)

    def demand(self) -> CopyDemand:
        return self.asked
