"""The number of crawls at each start time of slots, for the least sum of |start - ideal time|: a flow along the line.

Let F_k be the crawls that pass the gap after start k forwards, less those that pass it back, each crawl taken to be at
the start nearest to its ideal time at first. With a_k crawls nearest to start k, and y_k of its capacity c_k used,
F_k = F_(k-1) + a_k - y_k, so F_k - F_(k-1) is in [a_k - c_k, a_k]; F is 0 before the first start and after the last.
The cost of a gap is convex in F_k with its minimum at 0: cut at the ideal times within it, the i-th of its pieces
(from 0), of length h, costs h |F_k - (n - i)|, where n of these crawls lie in the first half of the gap.

- Where the whole capacity is used, F_k - F_(k-1) = a_k - c_k, and nothing is left to choose.
- F is bounded by the backlog of crawls that all go forwards (first come, first served) and by that of crawls that all
  go back: min(F, backlog) obeys the same constraints and costs less. Where both are 0, so is F, and the line falls
  apart into runs that are solved on their own.
- In a run, the least cost of what lies before as a function of F_k is convex and piecewise linear. It is kept as two
  heaps of breakpoints, left and right of its minimum (the slope trick): a start shifts the left heap by a_k - c_k and
  the right one by a_k, and a gap adds its own breakpoints, those beyond the bounds drawn to them.
"""

import heapq
import math
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import FloatArray, IntArray


def first_come_first_served(arriving: IntArray, capacity: IntArray) -> tuple[IntArray, int]:
    """(m,) how many are served at each of m starts, where each waits for the first free place; and how many remain."""
    waiting = _backlog(arriving, capacity)
    return arriving - np.diff(waiting, prepend=0), int(waiting[-1]) if waiting.size else 0


def _backlog(arriving: IntArray, capacity: IntArray) -> IntArray:
    """(m,) the crawls that wait after each start: max(0, what waited + arriving - capacity)."""
    surplus = np.cumsum(arriving - capacity)
    return surplus - np.minimum(np.minimum.accumulate(surplus), 0)


def crawls_at_each_start(at_s: FloatArray, capacity: IntArray, ideal_s: FloatArray) -> IntArray:
    """(m,) how many crawls use each start in an assignment of least cost.

    `at_s` (m,) starts, ascending; `capacity` (m,) 0 or more; `ideal_s` ascending, as many as the capacity or fewer.
    O(m) where the whole capacity is used; with slack a Python loop over the breakpoints of the runs.
    """
    if ideal_s.size == np.sum(capacity):
        return capacity
    nearest = np.bincount(np.searchsorted((at_s[1:] + at_s[:-1]) / 2.0, ideal_s), minlength=at_s.size)
    # Of each gap, how many crawls pass it if all go forwards, and if all go back.
    most = _backlog(nearest, capacity)[:-1]
    least = -_backlog(nearest[::-1], capacity[::-1])[::-1][1:]
    gaps = np.flatnonzero(least < most)
    flow = np.zeros(at_s.size + 1, dtype=np.intp)
    ends = np.flatnonzero(np.diff(gaps, append=at_s.size) > 1) + 1
    breakpoints = _Breakpoints.of(at_s, ideal_s, gaps, least[gaps], most[gaps])
    arriving, free = nearest.tolist(), capacity.tolist()
    begin = 0
    for end in ends.tolist():
        first, last = int(gaps[begin]), int(gaps[end - 1])
        flow[first + 1 : last + 2] = _flow_of_run(
            arriving[first : last + 2], free[first : last + 2], breakpoints, range(begin, end)
        )
        begin = end
    return nearest - np.diff(flow)


Heap = list[tuple[int, float]]
"""Breakpoints with the change of slope at each."""


@dataclass(frozen=True, slots=True)
class _Breakpoints:
    """The breakpoints of the costs of some gaps, and the lengths of line of which they are; one list for all gaps."""

    value: list[int]
    length: list[float]
    first: list[int]
    """Where those of each gap begin, and at last the number of all."""

    @classmethod
    def of(
        cls, at_s: FloatArray, ideal_s: FloatArray, gaps: IntArray, least: IntArray, most: IntArray
    ) -> "_Breakpoints":
        start, end = at_s[gaps], at_s[gaps + 1]
        first_crawl, last_crawl = np.searchsorted(ideal_s, start), np.searchsorted(ideal_s, end)
        pieces = last_crawl - first_crawl + 1
        begin = np.cumsum(pieces) - pieces
        i = np.arange(np.sum(pieces)) - np.repeat(begin, pieces)
        crawl = np.repeat(first_crawl, pieces) + i
        bound_s = np.append(ideal_s, np.inf)
        left = np.where(i == 0, np.repeat(start, pieces), bound_s[crawl - 1])
        right = np.minimum(bound_s[crawl], np.repeat(end, pieces))
        in_first_half = np.searchsorted(ideal_s, (start + end) / 2.0, side="right") - first_crawl
        value = np.clip(np.repeat(in_first_half, pieces) - i, np.repeat(least, pieces), np.repeat(most, pieces))
        # Those drawn to the same bound are one.
        kept = np.flatnonzero((np.diff(value, prepend=0) != 0) | (i == 0))
        length = np.add.reduceat(right - left, kept) if kept.size else np.empty(0)
        return cls(value[kept].tolist(), length.tolist(), np.searchsorted(kept, np.append(begin, i.size)).tolist())


def _flow_of_run(arriving: list[int], free: list[int], breakpoints: _Breakpoints, gaps: range) -> list[int]:
    """F in each gap of a run of r gaps between r + 1 starts, outside of which F is 0."""
    value, length, first = breakpoints.value, breakpoints.length, breakpoints.first
    lowest = []
    # Both heaps hold breakpoints less the shifts since they were added; the left one negated, its highest on top.
    left: Heap = [(0, math.inf)]
    right: Heap = [(0, math.inf)]
    left_shift = right_shift = 0
    for start, gap in enumerate(gaps):
        left_shift += arriving[start] - free[start]
        right_shift += arriving[start]
        own = slice(first[gap], first[gap + 1])
        _add(left, right, left_shift, right_shift, value[own], length[own])
        lowest.append(left_shift - left[0][0])
    flow = [0] * len(lowest)
    after = 0
    for k in range(len(lowest) - 1, -1, -1):
        # F_k may be anything in [low, low + free], where it leads to the flow `after`; the minimum of the cost begins
        # at lowest[k], and the cost only rises with the distance from it.
        low = after - arriving[k + 1]
        after = flow[k] = min(max(low, lowest[k]), low + free[k + 1])
    return flow


def _add(left: Heap, right: Heap, left_shift: int, right_shift: int, values: list[int], lengths: list[float]) -> None:
    """Add the sum of length * |F - value| to the cost, and bring its minimum back between the heaps."""
    minimum = left_shift - left[0][0]
    slope = 0.0
    for value, length in zip(values, lengths, strict=True):
        if value <= minimum:
            heapq.heappush(left, (left_shift - value, 2.0 * length))
            slope += length
        else:
            heapq.heappush(right, (value - right_shift, 2.0 * length))
            slope -= length
    if slope > 0.0:
        _move(left, right, left_shift - right_shift, slope)
    else:
        _move(right, left, left_shift - right_shift, -slope)


def _move(source: Heap, target: Heap, shift: int, slope: float) -> None:
    """Move breakpoints from the top of one heap to the other.

    Those with a change of slope of `slope` together, where `shift` less their value is their value.
    """
    while slope > 0.0:
        value, change = source[0]
        if change <= slope:
            heapq.heappop(source)
        else:
            source[0] = (value, change - slope)
        heapq.heappush(target, (shift - value, min(change, slope)))
        slope -= change
