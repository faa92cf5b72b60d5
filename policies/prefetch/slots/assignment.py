"""The assignment of crawls to slots of crawlers, so that the slots lie nearest to the ideal times.

Source: Wolf et al., "Optimal crawling strategies for web search engines" (`crawling`), section 3, a transportation
problem. The l-th of the S_k slots of crawler k starts at (l - 1) T / S_k (printed (l - 1) / T). A crawl at t instead of
its ideal time t* costs |t - t*|; one with a release time costs t - t*, and may not start before t*.

Why `assign` is exact without a general solver:

1. Crawls with a release time go first, each in the first free slot from t* on, in the order of t*. For if one of them
   is in a slot at t and another crawl is in, or nothing uses, a slot at s with t* <= s < t, then exchanging the two
   saves t - s here and costs at most t - s there. Among themselves their order does not change the sum.
2. The other crawls take the rest in order: crossed assignments may be uncrossed, |t - t*| being convex. Where all slots
   are needed, that is sorted matching.
3. Where there is slack, how many crawls use each start follows from the least-cost flow along the line (`flow`).

Which crawls may use a slot is the same for all of them here. Windows in which a crawler is not available are slots
that are left out. Slots forbidden to some crawls only: `restricted`.
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
    """A time in which a crawler is not available: from `start_s` up to, but not at, `end_s`."""

    start_s: float
    end_s: float
    crawler: int | None = None
    """Its number from 0; None: all."""


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The slots of all crawlers, by start, and by crawler where they start together."""

    start_s: FloatArray
    """(M,) ascending."""
    crawler: IntArray
    """(M,) from 0."""

    @classmethod
    def of(cls, period_s: float, slots_of_crawlers: Sequence[int], closed: Iterable[Downtime] = ()) -> Self:
        """`slots_of_crawlers[k]` >= 0 equal slots of crawler k in the period, less those that start in a window.

        Raises ValueError, which names the crawler, for a negative number of slots or a window of none of them.
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
            inside = (start >= window.start_s) & (start < window.end_s)
            kept &= ~(inside if window.crawler is None else inside & (crawler == window.crawler))
        order = np.argsort(start[kept], kind="stable")
        return cls(start[kept][order], crawler[kept][order])


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The slot of each of n crawls."""

    slot: IntArray
    """(n,) the number of the slot in `Slots`; none occurs twice."""
    start_s: FloatArray
    """(n,) when it starts."""
    crawler: IntArray
    """(n,) whose it is."""

    @classmethod
    def of(cls, slots: Slots, slot: IntArray) -> Self:
        """Make an assignment from the number of the slot of each crawl."""
        return cls(slot, slots.start_s[slot], slots.crawler[slot])


def checked_crawls(slots: Slots, ideal_s: FloatArray, released: NDArray[np.bool_]) -> None:
    """Raises a `RowError` for a time that is not finite, and a ValueError for more crawls than slots."""
    if ideal_s.ndim != 1 or released.shape != ideal_s.shape:
        raise ValueError(f"{ideal_s.shape} ideal times and {released.shape} marks of a release time")
    if not np.all(np.isfinite(ideal_s)):
        row = int(np.flatnonzero(~np.isfinite(ideal_s))[0])
        raise RowError(row, f"the ideal time is {ideal_s[row]}, expected a finite number of seconds")
    if ideal_s.size > slots.start_s.size:
        raise ValueError(f"{ideal_s.size} crawls for {slots.start_s.size} slots")


def assign(slots: Slots, ideal_s: FloatArray, released: NDArray[np.bool_]) -> Assignment:
    """Return the assignment of n crawls with the least total cost.

    `ideal_s` (n,): t* of each crawl; `released` (n,): whether t* is a release time. Of equal crawls the first row comes
    first. Raises ValueError for more crawls than slots, and a `RowError` for a time that is not finite, and for a
    release time after which too few slots are left.

    O(n log n) for sorting the ideal times, and O(M) where all slots are used; `flow` says what slack costs.
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
    """Return these rows by their ideal times, and the times."""
    times = ideal_s[rows]
    order = np.argsort(times, kind="stable")
    return rows[order], times[order]


def _release_counts(at: FloatArray, capacity: IntArray, rows: IntArray, release_s: FloatArray) -> IntArray:
    """Return how many crawls with a release time each start serves. A `RowError` if not all fit."""
    in_time = int(np.searchsorted(release_s, at[-1], side="right")) if at.size else 0
    arriving = np.bincount(np.searchsorted(at, release_s[:in_time]), minlength=at.size)
    served, waiting = first_come_first_served(arriving, capacity)
    if in_time - waiting < rows.size:
        row = in_time - waiting
        raise RowError(int(rows[row]), f"no slot is free at or after its release time {release_s[row]} s")
    return served


def _slots_in_order(first: IntArray, count: IntArray) -> IntArray:
    """The numbers of the slots that are used, where `count` slots from `first` on are used at each start."""
    used = np.repeat(first - (np.cumsum(count) - count), count)
    return used + np.arange(used.size)
