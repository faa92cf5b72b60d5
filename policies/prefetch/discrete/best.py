"""The exact optimal numbers of visits within bounds, for gains that do not increase with the number of visits.

The greedy algorithm (Fox), which adds one visit at a time where it gains most, is exact, but its cost grows with the
budget. Here the threshold is searched for at which the visits with a gain of at least the threshold add up to the
budget; a threshold is evaluated in O(N). When few visits are left between a lower and an upper threshold, these are
ranked by gain. Objects may be in parts that other processes read: each answers with sums, and with the few gains that
are ranked.

Source: Wolf et al., "Optimal crawling strategies for web search engines", section 2.4 (equations 19 to 21).
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.allocation.parts import InMemory, ObjectParts
from bestbefore.policies.prefetch.checked import IntArray, checked_bounds
from bestbefore.policies.prefetch.discrete.gains import Gains
from bestbefore.policies.prefetch.discrete.part_visits import VisitColumns, VisitShare
from bestbefore.policies.units import FloatArray

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
    columns = VisitColumns(gains, least, np.minimum(most, least + spare), keeps=True)
    (share,) = visit_shares(InMemory((columns,)), len(gains), spare)
    return columns.visits(share)


def visit_shares(parts: ObjectParts[VisitColumns], n: int, spare: int) -> list[VisitShare]:
    """Return the share of each part in the best division of `spare` visits beyond the minimums among all n objects.

    The most visits to an object are not above its least plus `spare`. Among equal gains those of the first parts and
    objects are made.
    """
    start = 0.0
    if n > SAMPLE:
        sample = InMemory(tuple(parts.ask(partial(_sampled, -(-n // SAMPLE)))))
        sampled = sum(map(len, sample.parts))
        start = _bracket(sample, sampled, int(spare * sampled / n), start)[1].log_threshold
    more, less = _bracket(parts, n, spare, start)
    ends = more.log_threshold, less.log_threshold
    rooms = parts.ask(partial(_room, *ends))
    needed, left = max(spare - less.total, 0), sum(rooms)
    # where so many are left, no float lies between the thresholds: all these gains are equal
    if not needed or left <= needed or left > max(FEW, 2 * n):
        last, equal = math.inf, rooms
    else:
        gained = parts.ask(partial(_between, *ends))
        last, needed = _last(gained, needed)
        equal = [int(numbers[values == last].sum()) for values, numbers in gained]
    before = np.cumsum([0, *equal]).tolist()
    made = [min(max(needed - earlier, 0), own) for earlier, own in zip(before, equal, strict=False)]
    return [VisitShare(*ends, last, own) for own in made]


def _last(gained: list[tuple[FloatArray, IntArray]], needed: int) -> tuple[float, int]:
    """Return the gain of the visit that is made last, and the number of visits with just this gain that are made."""
    values, which = np.unique(np.concatenate([values for values, _ in gained]), return_inverse=True)
    numbers = np.bincount(which, np.concatenate([numbers for _, numbers in gained])).astype(np.int64)
    at_least = np.cumsum(numbers[::-1])
    place = int(np.searchsorted(at_least, needed))
    return float(values[::-1][place]), needed - int(at_least[place] - numbers[::-1][place])


def _sampled(step: int, part: VisitColumns) -> VisitColumns:
    return part.sampled(step)


def _total(log_threshold: float, part: VisitColumns) -> int:
    return part.total(log_threshold)


def _room(more: float, less: float, part: VisitColumns) -> int:
    return part.room(more, less)


def _between(more: float, less: float, part: VisitColumns) -> tuple[FloatArray, IntArray]:
    return part.between(more, less)


def _bracket(parts: ObjectParts[VisitColumns], n: int, spare: int, start: float) -> tuple[Threshold, Threshold]:
    """A threshold with at least `spare` visits beyond the minimums, and one with at most as many, close to each other.

    If fewer visits gain anything at all, both are the least threshold.
    """
    more: Threshold | None = None
    less: Threshold | None = None
    few = max(FEW, n // 50)
    log_threshold, step, looks = start, 0.01, 0
    before, in_vain = math.inf, 0
    while True:
        looks += 1
        side = Threshold(log_threshold, sum(parts.ask(partial(_total, log_threshold))))
        if side.total >= spare:
            more = side
        if side.total <= spare:
            less = side
        if more is not None and less is not None:
            left = more.total - less.total
            in_vain += left > 0.9 * before
            before = left
            if left <= few or (in_vain >= PATIENCE and left <= 2 * n):
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
