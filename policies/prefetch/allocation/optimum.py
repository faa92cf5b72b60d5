"""The optimal continuous division: the multiplier at which the refreshes of all objects add up to the budget.

Cost: O(N), in passes over the parts of the objects. The first pass makes bins of the objects by their keys on the
curve. The multiplier that solves the problem for the bins (some ten thousand for any N) is almost exact for the
objects, so that one or two more passes are enough, and one that writes the refreshes.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from bestbefore.policies.prefetch.allocation.columns import MANY, PartColumns
from bestbefore.policies.prefetch.allocation.cubics import Scratch, chunks
from bestbefore.policies.prefetch.allocation.curves import LEAST_X, AgeCurve, AllocationCurve, FreshnessCurve
from bestbefore.policies.prefetch.allocation.histogram import Bins, merged
from bestbefore.policies.prefetch.allocation.parts import Derived, Division, ObjectParts
from bestbefore.policies.prefetch.allocation.ratio import ratio_of_surprise
from bestbefore.policies.prefetch.allocation.root import Root, falling_root
from bestbefore.policies.prefetch.checked import MOST
from bestbefore.policies.units import FloatArray

TOLERANCE = 1e-7
"""The relative error of the sum of refreshes before they are scaled to the budget. The objective errs by its square."""
BINS_TOLERANCE = 1e-10
"""The same for the solution over bins, which represent the objects to about 1e-7."""
STEP = 1e-3
"""The step in x, to either side, of the numerical slope."""
EDGE_BELOW, EDGE_ABOVE = 16, 2
"""The bins below and above that of y = 1 which are split into single objects, as the curve bends too much there."""
FEWEST_UPDATES = 1e-120
"""The least rate that is used, in updates for each refresh of the budget; it keeps the search above `LEAST_X`."""
CERTAIN_SURPRISE = 37.0
"""The largest s = r - ln(1+r) of the best object; above it s of every other object is infinite in float64."""


def excess(total: float, budget: float) -> float:
    """ln(total / budget); -700 where the total is 0."""
    return math.log(total / budget) if total > 0.0 else -700.0


def spent_of_bins(bins: Bins, curve: AllocationCurve, x: float, scratch: Scratch) -> float:
    """The sum of the refreshes at x, with the mean key of its bin for each object."""
    total = 0.0
    for part in chunks(len(bins.rates)):
        out = scratch.second[:len(bins.rates[part])]
        curve.refreshes(bins.rates[part], bins.keys[part].copy(), x, out, scratch)
        total += float(out.sum())
    return total


def solve_bins(bins: Bins, curve: AllocationCurve, budget: float, start: float, most: float) -> Root:
    """Find the x <= `most` at which the refreshes of the bins add up to the budget, from the guess `start`."""
    scratch = Scratch()
    return falling_root(
        lambda x: excess(spent_of_bins(bins, curve, x, scratch), budget), start, curve.slope, BINS_TOLERANCE, most
    )


def solve(
    parts: ObjectParts[PartColumns], bins: Bins, curve: AllocationCurve, budget: float, of_bins: Root, most: float
) -> Division:
    """Find the division on the curve at x <= `most` that spends the budget > 0; x is near that of the bins.

    The refreshes may jump across the budget between neighbouring floats x, since an object at the edge has f =
    lambda / 36 at one and 0 at the next. The result is then interpolated; all values between are equally good.
    """
    scratch = Scratch()
    before, after = (spent_of_bins(bins, curve, of_bins.low + step, scratch) for step in (-STEP, STEP))
    slope = min(-excess(before, after) / (2.0 * STEP), -1e-3)
    totals: dict[float, float] = {}

    def surplus(x: float) -> float:
        totals[x] = sum(parts.ask(partial(PartColumns.spent, curve=curve, x=x)))
        return excess(totals[x], budget)

    root = falling_root(
        surplus, of_bins.low, slope, TOLERANCE, most,
        second_guess=of_bins.high if of_bins.low < of_bins.high else None,
    )
    if root.low == root.high or math.isinf(root.low):  # no x spends more
        return partial(_on_curve, curve, root.high, budget / totals[root.high])
    above, below = totals[root.low], totals[root.high]
    share = (budget - below) / (above - below)
    between = partial(_between, curve, root.low, root.high, share, 1.0)
    total = sum(parts.ask(partial(_sum, between)))
    return partial(_between, curve, root.low, root.high, share, budget / total)


class FreshnessDivisions:
    """The divisions that maximise sum w F among objects in parts.

    Two extreme cases are solved apart. A small budget, at which the best objects have s > 37, goes to these alone, in
    proportion to their rates. Where the best objects would get more than 1e130 refreshes per update, rates are raised
    to `FEWEST_UPDATES` per refresh, so that the other objects, which take nearly all of the budget, get their share.
    """

    def __init__(self, parts: ObjectParts[PartColumns]) -> None:
        self._parts = parts
        bins = merged(parts.ask(partial(PartColumns.bins, curve=FreshnessCurve)))
        if len(bins.keys):
            bins.keys[0] = bins.least_key
        self._bins = bins

    def __call__(self, budget: float) -> Division:
        """Divide a budget > 0."""
        if not len(self._bins.rates):
            return nothing
        with np.errstate(all="ignore"):
            curve, scratch = FreshnessCurve(self._bins.least_key), Scratch()
            if spent_of_bins(self._bins, curve, 0.0, scratch) > budget:
                total = sum(self._parts.ask(partial(_sum_at, self._bins.least_key)))
                if budget <= total / float(ratio_of_surprise(np.array([CERTAIN_SURPRISE]))[0]):
                    return partial(_among_best, self._bins.least_key, budget / total)
            if spent_of_bins(self._bins, curve, LEAST_X, scratch) < budget:
                raised = partial(_per_refresh, budget)
                return partial(_times, FreshnessDivisions(Derived(self._parts, raised))(1.0), raised, budget)
            most = math.log(CERTAIN_SURPRISE)
            start = solve_bins(self._bins, curve, budget, 0.0, most).low
            bins = self._split(curve, curve.edge_bin(start))
            return solve(self._parts, bins, curve, budget, solve_bins(bins, curve, budget, start, most), most)

    def _split(self, curve: FreshnessCurve, edge: int) -> Bins:
        """Split the bins near the edge into one for each object, if they are at most `MANY`."""
        low, high = edge - EDGE_BELOW, edge + EDGE_ABOVE
        bins = self._bins
        others = (bins.numbers < low) | (bins.numbers > high)
        if others.all():
            return bins
        single = self._parts.ask(partial(PartColumns.single, curve=curve, low=low, high=high))
        found = [one for one in single if one is not None]
        number = sum(len(rates) for rates, _ in found)
        if len(found) < len(single) or number > MANY:
            return bins
        return Bins(
            np.concatenate((bins.numbers[others], np.full(number, low))),
            np.concatenate((bins.rates[others], *(rates for rates, _ in found))),
            np.concatenate((bins.keys[others], *(keys for _, keys in found))),
            bins.least_key,
        )


class AgeDivisions:
    """The divisions that minimise sum w A among objects in parts."""

    def __init__(self, parts: ObjectParts[PartColumns]) -> None:
        self._parts = parts
        self._bins = merged(parts.ask(partial(PartColumns.bins, curve=AgeCurve)))

    def __call__(self, budget: float) -> Division:
        """Divide a budget > 0."""
        if not len(self._bins.rates):
            return nothing
        curve = AgeCurve()
        with np.errstate(all="ignore"):
            of_bins = solve_bins(self._bins, curve, budget, 0.0, math.inf)
            return solve(self._parts, self._bins, curve, budget, of_bins, math.inf)


def nothing(columns: PartColumns) -> FloatArray:
    """No refreshes, as no object has a rate and a weight."""
    return np.zeros(len(columns))


def _on_curve(curve: AllocationCurve, x: float, factor: float, columns: PartColumns) -> FloatArray:
    refreshes = columns.refreshes(curve, x)
    refreshes *= factor
    return refreshes


def _between(
    curve: AllocationCurve, low: float, high: float, share: float, factor: float, columns: PartColumns
) -> FloatArray:
    """The refreshes at `high`, moved by `share` towards those at `low`."""
    refreshes = columns.refreshes(curve, high)
    columns.approach(curve, low, refreshes, share)
    refreshes *= factor
    return refreshes


def _sum(division: Division, columns: PartColumns) -> float:
    return float(division(columns).sum())


def _sum_at(key: float, columns: PartColumns) -> float:
    return float(columns.rates_at(key).sum())


def _among_best(key: float, factor: float, columns: PartColumns) -> FloatArray:
    best = columns.rates_at(key)
    best *= factor
    return best


def _per_refresh(budget: float, columns: PartColumns) -> PartColumns:
    """The objects with rates in updates for each refresh of the budget, raised to what can be computed with."""
    with np.errstate(all="ignore"):
        raised = np.clip(columns.rates / budget, FEWEST_UPDATES, MOST)
    return PartColumns(np.where(columns.rates > 0.0, raised, 0.0), columns.weights)


def _times(
    division: Division, raised: Callable[[PartColumns], PartColumns], budget: float, columns: PartColumns
) -> FloatArray:
    refreshes = division(raised(columns))
    refreshes *= budget
    return refreshes
