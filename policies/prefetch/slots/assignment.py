"""The assignment of crawls to slots of crawlers with the least total distance from the ideal times.

Source: Wolf et al., "Optimal crawling strategies for web search engines" (`crawling`), section 3, a transportation
problem. The l-th of the S_k slots of crawler k starts at (l - 1) T / S_k (misprinted as (l - 1) / T). A crawl at t
instead of its ideal time t* costs |t - t*|; a crawl with a release time t* costs t - t*, and may not start before t*.

`assign` is exact without a general solver, for these reasons:

1. Crawls with a release time are placed first, in the order of t*, each in the first free slot from t* on. If such a
   crawl used a slot at t although a slot at s with t* <= s < t was free or used by another kind of crawl, exchanging
   the two would save t - s and cost at most t - s. The order among these crawls does not change the sum.
2. The other crawls take the remaining slots in the order of t*, since |t - t*| is convex and crossed assignments can be
   uncrossed. Where all slots are needed, this is sorted matching.
3. Where slots are left over, the least-cost flow along the line gives the number of crawls at each start (`flow`).

Any crawl may use any slot here. Slots in which a crawler is not available are left out. For slots forbidden to some
crawls see `restricted`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.slots.flow import crawls_at_each_start, first_come_first_served
from bestbefore.policies.units import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Downtime:
    """A time in which a crawler is not available: [`start_s`, `end_s`) of the period."""

    start_s: float
    end_s: float
    crawler: int | None = None
    """The number of the crawler, from 0; None: all crawlers."""

    def covers(self, start_s: FloatArray, crawler: IntArray) -> NDArray[np.bool_]:
        """(M,) whether slots that start at `start_s` of these crawlers, both (M,), lie in it."""
        inside = (start_s >= self.start_s) & (start_s < self.end_s)
        return inside if self.crawler is None else inside & (crawler == self.crawler)


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The M slots of all crawlers, ordered by start, then by crawler."""

    start_s: FloatArray
    """(M,) ascending seconds from the beginning of the period."""
    crawler: IntArray
    """(M,) the number of the crawler, from 0."""

    @classmethod
    def of(cls, period_s: float, slots_of_crawlers: Sequence[int], closed: Iterable[Downtime] = ()) -> Self:
        """Make `slots_of_crawlers[k]` >= 0 equal slots of each crawler k, without those that start in its downtime.

        Raises ValueError for a negative number of slots, and for the downtime of an unknown crawler.
        """
        if not (np.isfinite(period_s) and period_s > 0.0):
            raise ValueError(f"a period of {period_s} s: expected more than 0")
        for k, number in enumerate(slots_of_crawlers):
            if number < 0:
                raise ValueError(f"crawler {k} has {number} slots: expected 0 or more")
        starts = [np.arange(number) * (period_s / number) for number in slots_of_crawlers if number]
        start = np.concatenate(starts) if starts else np.empty(0)
        crawler = np.repeat(np.arange(len(slots_of_crawlers)), slots_of_crawlers)
        kept = np.ones(start.size, dtype=np.bool_)
        for window in closed:
            if window.crawler is not None and not 0 <= window.crawler < len(slots_of_crawlers):
                raise ValueError(f"a window of crawler {window.crawler}: there are {len(slots_of_crawlers)}, from 0")
            kept &= ~window.covers(start, crawler)
        order = np.argsort(start[kept], kind="stable")
        return cls(start[kept][order], crawler[kept][order])


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The slot of each of n crawls."""

    slot: IntArray
    """(n,) the index of the slot in `Slots`, all different."""
    start_s: FloatArray
    """(n,) the start of the slot."""
    crawler: IntArray
    """(n,) the crawler of the slot."""

    @classmethod
    def of(cls, slots: Slots, slot: IntArray) -> Self:
        """Make an assignment from the index of the slot of each crawl."""
        return cls(slot, slots.start_s[slot], slots.crawler[slot])


def checked_crawls(slots: Slots, ideal_s: FloatArray, released: NDArray[np.bool_]) -> None:
    """Raise a `RowError` for a time that is not finite, and a ValueError for more crawls than slots."""
    if ideal_s.ndim != 1 or released.shape != ideal_s.shape:
        raise ValueError(f"{ideal_s.shape} ideal times and {released.shape} marks of a release time")
    if not np.all(np.isfinite(ideal_s)):
        row = int(np.flatnonzero(~np.isfinite(ideal_s))[0])
        raise RowError(row, f"the ideal time is {ideal_s[row]}, expected a finite number of seconds")
    if ideal_s.size > slots.start_s.size:
        raise ValueError(f"{ideal_s.size} crawls for {slots.start_s.size} slots")


def assign(slots: Slots, ideal_s: FloatArray, released: NDArray[np.bool_]) -> Assignment:
    """Return the assignment of n crawls with the least total cost.

    `ideal_s` (n,) is t* of each crawl, `released` (n,) whether t* is a release time. Equal crawls keep their order.
    Raises ValueError for more crawls than slots, and a `RowError` for a time that is not finite, and for a release time
    after which too few slots are left.

    Costs O(n log n) for sorting, and O(M) where all slots are used; for the cost with slots left over see `flow`.
    """
    checked_crawls(slots, ideal_s, released)
    first = np.flatnonzero(np.diff(slots.start_s, prepend=-np.inf))
    at, capacity = slots.start_s[first], np.diff(first, append=slots.start_s.size)
    late, late_s = _sorted(np.flatnonzero(released), ideal_s)
    early, early_s = _sorted(np.flatnonzero(~released), ideal_s)
    with_release = _release_counts(at, capacity, late, late_s)
    without = crawls_at_each_start(at, capacity - with_release, early_s)
    slot = np.empty(ideal_s.size, dtype=np.intp)
    slot[late] = _slots_in_order(first, with_release)
    slot[early] = _slots_in_order(first + with_release, without)
    return Assignment.of(slots, slot)


def _sorted(rows: IntArray, ideal_s: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the rows sorted by their ideal times, and these times."""
    times = ideal_s[rows]
    order = np.argsort(times, kind="stable")
    return rows[order], times[order]


def _release_counts(at: FloatArray, capacity: IntArray, rows: IntArray, release_s: FloatArray) -> IntArray:
    """Return the number of crawls with a release time at each start; raise a `RowError` if not all fit."""
    in_time = int(np.searchsorted(release_s, at[-1], side="right")) if at.size else 0
    arriving = np.bincount(np.searchsorted(at, release_s[:in_time]), minlength=at.size)
    served, waiting = first_come_first_served(arriving, capacity)
    if in_time - waiting < rows.size:
        row = in_time - waiting
        raise RowError(int(rows[row]), f"no slot is free at or after its release time {release_s[row]} s")
    return served


def _slots_in_order(first: IntArray, count: IntArray) -> IntArray:
    """Return the indices of the used slots: at each start `count` slots from index `first` on."""
    used = np.repeat(first - (np.cumsum(count) - count), count)
    return used + np.arange(used.size)
