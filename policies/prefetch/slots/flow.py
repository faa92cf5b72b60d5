"""The number of crawls at each start of slots for the least sum of |start - ideal time|, as a flow along the line.

Place each crawl at the start nearest to its ideal time. Let F_k be the net number of crawls that are moved forwards
across the gap after start k. With a_k crawls nearest to start k, and y_k of its capacity c_k used,
F_k = F_(k-1) + a_k - y_k, so F_k - F_(k-1) is in [a_k - c_k, a_k]; F is 0 before the first start and after the last.
The cost of a gap is convex in F_k with its minimum at 0. The ideal times within the gap cut it into pieces; the i-th
piece (from 0), of length h, costs h |F_k - (n - i)|, where n of these crawls lie in the first half of the gap.

- Where the whole capacity is used, F_k - F_(k-1) = a_k - c_k, and there is no choice.
- F is bounded by the backlog if all crawls move forwards only (first come, first served), and by the backlog if all
  move backwards only: min(F, backlog) satisfies the same constraints and costs less. Where both bounds are 0, F is 0,
  and the line falls apart into runs that are solved independently.
- In a run, the least cost of all gaps up to k is a convex piecewise linear function of F_k. It is represented by two
  heaps of breakpoints, left and right of its minimum (the slope trick): a start shifts the left heap by a_k - c_k and
  the right heap by a_k; a gap adds its own breakpoints, clipped to the bounds.
"""

import heapq
import math
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import FloatArray, IntArray


def first_come_first_served(arriving: IntArray, capacity: IntArray) -> tuple[IntArray, int]:
    """(m,) the crawls served at each of m starts, each at the first free place; and the number not served at all."""
    waiting = _backlog(arriving, capacity)
    return arriving - np.diff(waiting, prepend=0), int(waiting[-1]) if waiting.size else 0


def _backlog(arriving: IntArray, capacity: IntArray) -> IntArray:
    """(m,) the crawls waiting after each start: max(0, those waiting before + arriving - capacity)."""
    surplus = np.cumsum(arriving - capacity)
    return surplus - np.minimum(np.minimum.accumulate(surplus), 0)


def crawls_at_each_start(at_s: FloatArray, capacity: IntArray, ideal_s: FloatArray) -> IntArray:
    """(m,) the number of crawls at each start in an assignment of least cost.

    `at_s` (m,) are the starts, ascending; `capacity` (m,) is 0 or more; `ideal_s` ascends, and is no longer than the
    total capacity. Costs O(m) where the whole capacity is used, else a Python loop over the breakpoints of the runs.
    """
    if ideal_s.size == np.sum(capacity):
        return capacity
    nearest = np.bincount(np.searchsorted((at_s[1:] + at_s[:-1]) / 2.0, ideal_s), minlength=at_s.size)
    # The bounds of F in each gap: the backlog if all crawls move forwards, and if all move backwards.
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
    """The breakpoints of the cost functions of gaps, in common lists for all gaps."""

    value: list[int]
    """The flow F at the breakpoint."""
    length: list[float]
    """The length of the piece of the gap, half the change of slope at the breakpoint."""
    first: list[int]
    """The index of the first breakpoint of each gap, then the number of all breakpoints."""

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
        # Breakpoints clipped to the same bound are merged.
        kept = np.flatnonzero((np.diff(value, prepend=0) != 0) | (i == 0))
        length = np.add.reduceat(right - left, kept) if kept.size else np.empty(0)
        return cls(value[kept].tolist(), length.tolist(), np.searchsorted(kept, np.append(begin, i.size)).tolist())


def _flow_of_run(arriving: list[int], free: list[int], breakpoints: _Breakpoints, gaps: range) -> list[int]:
    """Return F in each gap of a run of r gaps between r + 1 starts, outside of which F is 0."""
    value, length, first = breakpoints.value, breakpoints.length, breakpoints.first
    lowest = []
    # Both heaps hold breakpoints without the shifts since they were added; the left heap is negated, the highest first.
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
        # F_k may have any value in [low, low + free] that leads to the flow `after`; the cost is least at lowest[k],
        # and increases with the distance from it.
        low = after - arriving[k + 1]
        after = flow[k] = min(max(low, lowest[k]), low + free[k + 1])
    return flow


def _add(left: Heap, right: Heap, left_shift: int, right_shift: int, values: list[int], lengths: list[float]) -> None:
    """Add the sum of length * |F - value| to the cost, and restore its minimum between the heaps."""
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
    """Move breakpoints with a total change of slope of `slope` from the top of one heap to the other.

    A value v of the source is `shift` - v in the target.
    """
    while slope > 0.0:
        value, change = source[0]
        if change <= slope:
            heapq.heappop(source)
        else:
            source[0] = (value, change - slope)
        heapq.heappush(target, (shift - value, min(change, slope)))
        slope -= change
