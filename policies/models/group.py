"""The updates of a group of objects, which AggHist assumes to have similar update patterns."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Self

import numpy as np

from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.models.member_rates import LEAST_OBSERVED_S, NAT, MemberRates
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

LEVEL_0 = 0.5
"""What is added to the updates of a member."""


def level(updates: int) -> int:
    """The logarithm of (updates + 0.5) / 0.5, as micro-nats: the share of a member in `Group.levels`."""
    return round(NAT * math.log((updates + LEVEL_0) / LEVEL_0))


def rate_of_levels_per_s(levels: int, members: int, member_hours: float) -> float:
    """The geometric mean of the rates of members, from the sum of their `level`; see `Group.rate_per_s`."""
    observed_s = max(member_hours * HOUR_S / members, LEAST_OBSERVED_S)
    return math.exp(levels / (NAT * members)) * LEVEL_0 / observed_s


@dataclass(frozen=True, slots=True)
class Tally:
    """A cumulative count of events: a step function of time."""

    moments_s: Sequence[float]
    """(n,) ascending."""
    totals: Sequence[int]
    """(n + 1,) the count after the first i moments."""

    @classmethod
    def of(cls, counts: Mapping[float, int]) -> Self:
        """Make a tally from the increments at each moment, in any order."""
        moments = sorted(counts)
        return cls(moments, [0, *accumulate(counts[moment] for moment in moments)])

    def latest_s(self, after_s: float, until_s: float, most: int) -> list[float]:
        """The moments of the last `most` events in (after_s, until_s], descending."""
        found: list[float] = []
        i = bisect_right(self.moments_s, until_s)
        while i and len(found) < most and self.moments_s[i - 1] > after_s:
            found += [self.moments_s[i - 1]] * min(self.totals[i] - self.totals[i - 1], most - len(found))
            i -= 1
        return found

    def at(self, t: float) -> int:
        """Return the count at t."""
        return self.totals[bisect_right(self.moments_s, t)]

    def between(self, after_s: float, until_s: float) -> int:
        """Return the increase in (after_s, until_s]; after_s <= until_s."""
        return self.at(until_s) - self.at(after_s)


@dataclass(frozen=True, slots=True)
class Group:
    """The updates of the members of a group, and since when each member has been observed.

    Like a `History` it may reach beyond the moment of a decision; every method reads only the interval given to it.
    Updates of two members at the same instant count as two. A query costs O(K log n) for K segments of the day and n
    updates, so that one group serves all decisions of a replay; building costs O(n log n).
    """

    edges_s: Sequence[float]
    """(K + 1,) the segments of the day by which updates are counted, as `intensity` defines them."""
    updates: tuple[Tally, ...]
    """(K,) the updates in each segment."""
    starts: Tally
    """The members, each at its t_0."""
    start_offsets_s: Sequence[float]
    """(n + 1,) the sum of t_0 - t_0 of the group over the members that start at one of the first i moments."""
    weekend: Tally
    """The updates on Saturdays and Sundays."""
    levels: Tally | None = None
    """The sum over the members of `level`, which grows with their updates; None if it is unknown whose updates are."""
    rates: MemberRates | None = None
    """The rates of the members as of their last contacts, where histories are observed."""

    @classmethod
    def of_updates(cls, times_s: FloatArray, starts_s: Iterable[float], edges_s: Sequence[float] = HOURLY_S) -> Self:
        """Make a group from the times of all updates of all members, in any order, and the t_0 of each member.

        It does not know whose the updates are; `of_members` does.
        """
        times = np.sort(times_s)
        segments = np.searchsorted(np.asarray(edges_s), times % DAY_S, side="right") - 1
        moments = [times[segments == k].tolist() for k in range(len(edges_s) - 1)]
        updates = tuple(Tally(m, range(len(m) + 1)) for m in moments)
        starts: dict[float, int] = {}
        for start_s in starts_s:
            starts[start_s] = starts.get(start_s, 0) + 1
        return cls.of_tallies(edges_s, updates, starts)

    @classmethod
    def of_members(cls, updates_s: Sequence[FloatArray], starts_s: Sequence[float]) -> Self:
        """Make a group from the times of the updates of each member, ascending, and its t_0."""
        steps: dict[float, int] = {}
        for times_s in updates_s:
            for n, time_s in enumerate(times_s.tolist(), 1):
                steps[time_s] = steps.get(time_s, 0) + level(n) - level(n - 1)
        return replace(cls.of_updates(np.concatenate(updates_s), starts_s), levels=Tally.of(steps))

    @classmethod
    def of_hours(
        cls, updates: Mapping[int, int], starts: Mapping[int, int], rates: MemberRates | None = None
    ) -> Self:
        """Make a group from the number of updates, and of members' t_0, in each hour since the epoch.

        All events of an hour are taken to happen at the start of the hour.
        """
        by_bin: list[dict[float, int]] = [{} for _ in HOURLY_S[1:]]
        for hour, n in updates.items():
            by_bin[hour % len(by_bin)][hour * HOUR_S] = n
        tallies, starts_s = tuple(Tally.of(counts) for counts in by_bin), {h * HOUR_S: n for h, n in starts.items()}
        return replace(cls.of_tallies(HOURLY_S, tallies, starts_s), rates=rates)

    @classmethod
    def of_tallies(cls, edges_s: Sequence[float], updates: tuple[Tally, ...], starts: Mapping[float, int]) -> Self:
        """Make a group from the updates in each segment, and the number of members whose t_0 is each moment."""
        members = Tally.of(starts)
        offsets = accumulate((s - members.moments_s[0]) * starts[s] for s in members.moments_s)
        weekend: dict[float, int] = {}
        for tally in updates:
            for moment_s, n in zip(tally.moments_s, pairwise(tally.totals), strict=True):
                if is_weekend(moment_s):
                    weekend[moment_s] = weekend.get(moment_s, 0) + n[1] - n[0]
        return cls(edges_s, updates, members, [0.0, *offsets], Tally.of(weekend))

    @property
    def since_s(self) -> float | None:
        """t_0 of the group, the earliest t_0 of its members; None for a group without members."""
        return self.starts.moments_s[0] if self.starts.moments_s else None

    def counts(self, after_s: float, until_s: float) -> list[int]:
        """N_k: the number of updates of all members in (after_s, until_s] for each segment; after_s <= until_s."""
        # As `Tally.between` of each, without three calls for each segment at each decision.
        return [
            tally.totals[bisect_right(tally.moments_s, until_s)] - tally.totals[bisect_right(tally.moments_s, after_s)]
            for tally in self.updates
        ]

    def weekend_updates(self, after_s: float, until_s: float) -> int:
        """The updates of all members in (after_s, until_s] on Saturdays and Sundays; after_s <= until_s."""
        return self.weekend.between(after_s, until_s)

    def rate_per_s(self, t: float) -> float:
        """The geometric mean of the members' rates at t, updates per second; one a day where it is unknown.

        The rate of a member is (updates + 0.5) / (time observed).
        """
        if self.rates is not None:
            return self.rates.per_s()
        members, hours = self.members(t), self.member_hours(-math.inf, t)
        if self.levels is None or hours <= 0.0:
            return MemberRates().per_s()
        levels, starts = self.levels.at(t), self.starts
        known = bisect_right(starts.moments_s, t)
        if known == 1:
            return rate_of_levels_per_s(levels, members, hours)
        log_observed = sum(
            (starts.totals[i + 1] - starts.totals[i]) * math.log(max(t - starts.moments_s[i], LEAST_OBSERVED_S))
            for i in range(known)
        )
        return math.exp((levels / NAT - log_observed) / members) * LEVEL_0

    def latest_s(self, after_s: float, until_s: float, most: int) -> list[float]:
        """The last `most` updates of all members in (after_s, until_s], descending."""
        found = [moment_s for tally in self.updates for moment_s in tally.latest_s(after_s, until_s, most)]
        return sorted(found, reverse=True)[:most]

    def members(self, t: float) -> int:
        """The number of members observed at t."""
        return self.starts.totals[bisect_right(self.starts.moments_s, t)]

    def member_hours(self, after_s: float, t: float) -> float:
        """The hours in (after_s, t] over which the members were observed, summed over the members; after_s <= t."""
        earlier = bisect_right(self.starts.moments_s, after_s)
        known = bisect_right(self.starts.moments_s, t)
        if not known:
            return 0.0
        since_s = self.starts.moments_s[0]
        before, during = self.starts.totals[earlier], self.starts.totals[known] - self.starts.totals[earlier]
        seconds = during * (t - since_s) - (self.start_offsets_s[known] - self.start_offsets_s[earlier])
        if before:
            seconds += before * (t - after_s)
        return seconds / HOUR_S
