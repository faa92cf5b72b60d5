"""The exact optimal numbers of visits within bounds, for gains that do not increase with the number of visits.

The greedy algorithm (Fox), which adds one visit at a time where it gains most, is exact, but its cost grows with the
budget. Here the threshold is searched for at which the visits with a gain of at least the threshold add up to the
budget; a threshold is evaluated in O(N). When few visits are left between a lower and an upper threshold, these are
ranked by gain.

Source: Wolf et al., "Optimal crawling strategies for web search engines", section 2.4 (equations 19 to 21).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.checked import IntArray, checked_bounds
from bestbefore.policies.prefetch.discrete.gains import Gains

SAMPLE = 1 << 15
"""The number of objects from which the first threshold is estimated where there are more."""
FEW = 4096
"""Up to this many visits, or one for each 50 objects, are ranked."""
PATIENCE = 2
"""After this many thresholds that did not narrow the bracket, up to two visits for each object are ranked: the gains of
many objects may be equal."""
LEAST_LOG = -690.0
"""ln of the least gain that counts as a gain."""
UNBOUNDED = 1 << 53
"""The maximum number of visits to an object without an upper bound."""


class Threshold(NamedTuple):
    """A threshold and the visits with at least this gain."""

    log_threshold: float
    """ln of the threshold."""
    counts: IntArray
    """(n,) the visits to each object, its minimum or more."""
    total: int
    """The sum of the visits beyond the minimums."""


def best_visits(gains: Gains, budget: int, minimum: ArrayLike = 0, maximum: ArrayLike = UNBOUNDED) -> IntArray:
    """The visits x, (n,), m_i <= x_i <= M_i, that add up to the budget at the least total cost sum w_i A_i(x_i).

    Among equal gains the objects with the lower numbers come first. Visits beyond the minimum that gain nothing are not
    made, so that part of the budget may be left.

    Raises ValueError for a budget that is not a positive whole number or less than the sum of the minimums, and a
    `RowError` for bounds that are not whole numbers from 0 up, or a minimum above its maximum.
    """
    least, most = checked_bounds(minimum, maximum, len(gains))
    if not (math.isfinite(budget) and budget == int(budget) and budget > 0):
        raise ValueError(f"the budget is {budget}, expected a positive whole number of visits per period")
    spare = int(budget) - int(least.sum())
    if spare < 0:
        raise ValueError(f"the budget is {budget} visits, but the least numbers of visits add up to {least.sum()}")
    most = np.minimum(most, least + spare)
    start = 0.0
    if len(gains) > SAMPLE:
        sampled = np.arange(0, len(gains), -(-len(gains) // SAMPLE))
        share = spare * len(sampled) / len(gains)
        start = _bracket(gains.subset(sampled), int(share), least[sampled], most[sampled], start)[1].log_threshold
    more, less = _bracket(gains, spare, least, most, start)
    return _best_between(gains, more, less, spare)


def _visits_at(gains: Gains, log_threshold: float, least: IntArray, most: IntArray) -> Threshold:
    counts = np.maximum(gains.count(math.exp(log_threshold), most), least)
    return Threshold(log_threshold, counts, int((counts - least).sum()))


def _bracket(gains: Gains, spare: int, least: IntArray, most: IntArray, start: float) -> tuple[Threshold, Threshold]:
    """A threshold with at least `spare` visits beyond the minimums, and one with at most as many, close to each other.

    If fewer visits gain anything at all, both are the least threshold.
    """
    more: Threshold | None = None
    less: Threshold | None = None
    few = max(FEW, len(gains) // 50)
    log_threshold, step, looks = start, 0.01, 0
    before, in_vain = math.inf, 0
    while True:
        looks += 1
        side = _visits_at(gains, log_threshold, least, most)
        if side.total >= spare:
            more = side
        if side.total <= spare:
            less = side
        if more is not None and less is not None:
            left = more.total - less.total
            in_vain += left > 0.9 * before
            before = left
            if left <= few or (in_vain >= PATIENCE and left <= 2 * len(gains)):
                return more, less
            middle = (more.log_threshold + less.log_threshold) / 2.0
            if not more.log_threshold < middle < less.log_threshold:
                return more, less
            log_threshold = middle if looks % 3 == 0 else _interpolated(more, less, spare, few)
        elif more is None and log_threshold <= LEAST_LOG:
            return side, side
        else:
            # the number of visits grows with the power -1/2 of the threshold or faster
            step = max(2.0 * step, 2.0 * abs(math.log1p(side.total) - math.log1p(spare)))
            log_threshold = max(log_threshold + math.copysign(step, side.total - spare), LEAST_LOG)


def _interpolated(more: Threshold, less: Threshold, spare: int, few: int) -> float:
    """A threshold between the two, aimed a few visits past the budget towards the farther one, to replace that one."""
    beyond = few / 3.0 if spare - less.total < more.total - spare else -few / 3.0
    target = min(max(spare + beyond, less.total), more.total)
    share = math.log((more.total + 1) / (target + 1)) / math.log((more.total + 1) / (less.total + 1))
    aimed = more.log_threshold + share * (less.log_threshold - more.log_threshold)
    if more.log_threshold < aimed < less.log_threshold:
        return aimed
    return (more.log_threshold + less.log_threshold) / 2.0


def _best_between(gains: Gains, more: Threshold, less: Threshold, spare: int) -> IntArray:
    """The visits of `less`, and of the further visits of `more` those with the largest gains, up to the budget."""
    needed = spare - less.total
    room = np.maximum(more.counts - less.counts, 0)
    left = int(room.sum())
    if needed <= 0 or left <= needed:
        return less.counts + room if needed > 0 else less.counts
    if left > max(FEW, 2 * len(gains)):  # no float lies between the thresholds: all these gains are equal
        first: IntArray = np.clip(needed - (np.cumsum(room) - room), 0, room)
        return less.counts + first
    some = np.flatnonzero(room)
    objects = np.repeat(some, room[some])
    earlier = np.arange(left) - np.repeat(np.cumsum(room[some]) - room[some], room[some])
    gained = gains.of(objects, less.counts[objects] + earlier)
    last = np.partition(gained, left - needed)[left - needed]
    made = gained > last
    made[np.flatnonzero(gained == last)[:needed - int(made.sum())]] = True
    won: IntArray = np.bincount(objects[made], minlength=len(room)).astype(np.int64)
    return less.counts + won
