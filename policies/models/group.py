"""The updates of a group of objects, which AggHist assumes to have similar update patterns."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np

from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray


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

    def between(self, after_s: float, until_s: float) -> int:
        """Return the increase in (after_s, until_s]; after_s <= until_s."""
        return self.totals[bisect_right(self.moments_s, until_s)] - self.totals[bisect_right(self.moments_s, after_s)]


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

    @classmethod
    def of_updates(cls, times_s: FloatArray, starts_s: Iterable[float], edges_s: Sequence[float] = HOURLY_S) -> Self:
        """Make a group from the times of all updates of all members, in any order, and the t_0 of each member."""
        times = np.sort(times_s)
        segments = np.searchsorted(np.asarray(edges_s), times % DAY_S, side="right") - 1
        moments = [times[segments == k].tolist() for k in range(len(edges_s) - 1)]
        updates = tuple(Tally(m, range(len(m) + 1)) for m in moments)
        starts: dict[float, int] = {}
        for start_s in starts_s:
            starts[start_s] = starts.get(start_s, 0) + 1
        return cls.of_tallies(edges_s, updates, starts)

    @classmethod
    def of_hours(cls, updates: Mapping[int, int], starts: Mapping[int, int]) -> Self:
        """Make a group from the number of updates, and of members' t_0, in each hour since the epoch.

        All events of an hour are taken to happen at the start of the hour.
        """
        by_bin: list[dict[float, int]] = [{} for _ in HOURLY_S[1:]]
        for hour, n in updates.items():
            by_bin[hour % len(by_bin)][hour * HOUR_S] = n
        return cls.of_tallies(
            HOURLY_S, tuple(Tally.of(counts) for counts in by_bin), {hour * HOUR_S: n for hour, n in starts.items()}
        )

    @classmethod
    def of_tallies(cls, edges_s: Sequence[float], updates: tuple[Tally, ...], starts: Mapping[float, int]) -> Self:
        """Make a group from the updates in each segment, and the number of members whose t_0 is each moment."""
        members = Tally.of(starts)
        offsets = accumulate((s - members.moments_s[0]) * starts[s] for s in members.moments_s)
        return cls(edges_s, updates, members, [0.0, *offsets])

    @property
    def since_s(self) -> float | None:
        """t_0 of the group, the earliest t_0 of its members; None for a group without members."""
        return self.starts.moments_s[0] if self.starts.moments_s else None

    def counts(self, after_s: float, until_s: float) -> list[int]:
        """N_k: the number of updates of all members in (after_s, until_s] for each segment; after_s <= until_s."""
        return [tally.between(after_s, until_s) for tally in self.updates]

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
