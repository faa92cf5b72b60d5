"""Optimal numbers of visits: exactly the visits that gain most, within bounds.

The greedy rule, one visit after the other to where it gains most (Fox), is exact because gains never rise, but its cost
grows with the visits. Here a threshold is searched for at which the visits that gain as much add up to the budget: each
look at a threshold costs O(N). Between a threshold too low and one too high only few visits are left, and are ranked.

Source: Wolf et al., "Optimal crawling strategies for web search engines", section 2.4 (equations 19 to 21).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.checked import IntArray, checked_bounds
from bestbefore.policies.prefetch.discrete.gains import Gains

SAMPLE = 1 << 15
"""From so many objects the first threshold is estimated, where there are more."""
FEW = 4096
"""So many visits, or one for each 50 objects, are ranked at once."""
PATIENCE = 2
"""After so many thresholds that brought the sides no closer, two visits for each object are ranked at once: the gains
of many objects may be equal."""
LEAST_LOG = -690.0
"""ln of the least gain that counts as one."""
UNBOUNDED = 1 << 53


class Side(NamedTuple):
    """The visits that gain a threshold or more."""

    log_threshold: float
    counts: IntArray
    total: int


def best_visits(
    gains: Gains, budget: int, minimum: ArrayLike = 0, maximum: ArrayLike = UNBOUNDED
) -> IntArray:
    """The visits x, (n,), m_i <= x_i <= M_i, that add up to the budget at the least total cost sum w_i A_i(x_i).

    Of visits that gain the same, those to the first objects are made. Visits beyond the minimum that gain nothing are
    not made; then less than the budget is spent.

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
        start = _enclosed(gains.only(sampled), int(share), least[sampled], most[sampled], start)[1].log_threshold
    more, less = _enclosed(gains, spare, least, most, start)
    return _between(gains, more, less, spare)


def _look(gains: Gains, log_threshold: float, least: IntArray, most: IntArray) -> Side:
    counts = np.maximum(gains.count(math.exp(log_threshold), most), least)
    return Side(log_threshold, counts, int((counts - least).sum()))


def _enclosed(gains: Gains, spare: int, least: IntArray, most: IntArray, start: float) -> tuple[Side, Side]:
    """A threshold for `spare` visits or more above the least, and one for as many or fewer; few visits lie between.

    Where all visits that gain anything are fewer, twice the threshold that lets all of them pass.
    """
    more: Side | None = None
    less: Side | None = None
    few = max(FEW, len(gains) // 50)
    log_threshold, step, looks = start, 0.01, 0
    before, in_vain = math.inf, 0
    while True:
        looks += 1
        side = _look(gains, log_threshold, least, most)
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
            log_threshold = middle if looks % 3 == 0 else _aimed(more, less, spare, few)
        elif more is None and log_threshold <= LEAST_LOG:
            return side, side
        else:
            # visits rise with the threshold to the power of -1/2 or faster
            step = max(2.0 * step, 2.0 * abs(math.log1p(side.total) - math.log1p(spare)))
            log_threshold = max(log_threshold + math.copysign(step, side.total - spare), LEAST_LOG)


def _aimed(more: Side, less: Side, spare: int, few: int) -> float:
    """A threshold between the two, for a few visits beyond the budget on the side that is farther from it."""
    beyond = few / 3.0 if spare - less.total < more.total - spare else -few / 3.0
    target = min(max(spare + beyond, less.total), more.total)
    share = math.log((more.total + 1) / (target + 1)) / math.log((more.total + 1) / (less.total + 1))
    aimed = more.log_threshold + share * (less.log_threshold - more.log_threshold)
    if more.log_threshold < aimed < less.log_threshold:
        return aimed
    return (more.log_threshold + less.log_threshold) / 2.0


def _between(gains: Gains, more: Side, less: Side, spare: int) -> IntArray:
    """The counts of `less`, and of the visits that only `more` has those that gain most, up to the budget."""
    needed = spare - less.total
    room = np.maximum(more.counts - less.counts, 0)
    left = int(room.sum())
    if needed <= 0 or left <= needed:
        return less.counts + room if needed > 0 else less.counts
    if left > max(FEW, 2 * len(gains)):  # float64 has no threshold between: they all gain the same
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
