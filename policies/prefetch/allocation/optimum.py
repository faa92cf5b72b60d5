"""The optimal continuous allocation: the multiplier at which the refreshes of all objects add up to the budget.

Cost: O(N), in passes over chunks. The first pass builds a histogram of the objects' keys on the curve. The multiplier
that solves the problem for the bins (some ten thousand for any N) is almost exact for the objects, so that one or two
more passes are enough. Memory: the result is the only array of length N.
"""

import math

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import Scratch, chunks
from bestbefore.policies.prefetch.allocation.curves import LEAST_X, AgeCurve, AllocationCurve, FreshnessCurve
from bestbefore.policies.prefetch.allocation.histogram import Histogram
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
MANY = 1 << 17
"""Bins with more objects than this in all are not split."""
FEWEST_UPDATES = 1e-120
"""The least rate that is used, in updates for each refresh of the budget; it keeps the search above `LEAST_X`."""
CERTAIN_SURPRISE = 37.0
"""The largest s = r - ln(1+r) of the best object; above it s of every other object is infinite in float64."""


class BudgetedObjects:
    """The objects among which a budget is divided, their bins, and the passes over both."""

    def __init__(self, rates: FloatArray, weights: FloatArray, curve: type[FreshnessCurve | AgeCurve]) -> None:
        self.rates = rates
        self.weights = weights
        self.scratch = Scratch()
        self.least_key = math.inf
        self._some_get_nothing = False
        histogram = Histogram()
        for part in chunks(len(rates)):
            some_rates, some_weights = rates[part], weights[part]
            live = (some_rates > 0.0) & (some_weights > 0.0)
            if not live.all():
                self._some_get_nothing = True
                some_rates, some_weights = some_rates[live], some_weights[live]
            if len(some_rates):
                keys = self.scratch.first[:len(some_rates)]
                curve.keys(some_rates, some_weights, keys)
                self.least_key = min(self.least_key, float(keys.min()))
                histogram.add(curve.bins(keys), some_rates, keys)
        self._bin_numbers, self.bin_rates, self.bin_keys = histogram.filled()

    def refresh(self, curve: AllocationCurve, x: float, out: FloatArray) -> float:
        """Write the refreshes of all objects at x into `out`, and return their sum."""
        total = 0.0
        for part in chunks(len(self.rates)):
            self._refresh(curve, x, part, out[part])
            total += float(out[part].sum())
        return total

    def approach(self, curve: AllocationCurve, x: float, out: FloatArray, share: float) -> None:
        """Move `out` by `share`, in [0, 1], of the difference to the refreshes at x."""
        for part in chunks(len(self.rates)):
            there = self.scratch.second[:len(out[part])]
            self._refresh(curve, x, part, there)
            np.subtract(there, out[part], out=there)
            np.multiply(there, share, out=there)
            np.add(out[part], there, out=out[part])

    def split_bins(self, curve: FreshnessCurve, low: int, high: int) -> None:
        """Split the bins with numbers in [low, high] into one bin for each object, for at most `MANY` objects."""
        rates, found_keys, found = [], [], 0
        for part in chunks(len(self.rates)):
            keys = self.scratch.first[:len(self.rates[part])]
            curve.keys(self.rates[part], self.weights[part], keys)
            numbers = curve.bins(keys)
            at = np.flatnonzero((numbers >= low) & (numbers <= high))
            found += len(at)
            if found > MANY:
                return
            rates.append(self.rates[part][at])
            found_keys.append(keys[at])
        others = (self._bin_numbers < low) | (self._bin_numbers > high)
        self._bin_numbers = np.concatenate((self._bin_numbers[others], np.full(found, low)))
        self.bin_rates = np.concatenate((self.bin_rates[others], *rates))
        self.bin_keys = np.concatenate((self.bin_keys[others], *found_keys))

    def best_rates(self) -> FloatArray:
        """The rates of the objects with the least key, (n,), and 0 for all others."""
        best = np.zeros(len(self.rates))
        for part in chunks(len(self.rates)):
            keys = self.scratch.first[:len(best[part])]
            FreshnessCurve.keys(self.rates[part], self.weights[part], keys)
            np.copyto(best[part], self.rates[part], where=keys == self.least_key)
        return best

    def refresh_bins(self, curve: AllocationCurve, x: float) -> float:
        """The sum of the refreshes at x, with the mean key of its bin for each object."""
        total = 0.0
        for part in chunks(len(self.bin_rates)):
            out = self.scratch.second[:len(self.bin_rates[part])]
            curve.refreshes(self.bin_rates[part], self.bin_keys[part].copy(), x, out, self.scratch)
            total += float(out.sum())
        return total

    def _refresh(self, curve: AllocationCurve, x: float, part: slice, out: FloatArray) -> None:
        keys = self.scratch.first[:len(out)]
        curve.keys(self.rates[part], self.weights[part], keys)
        curve.refreshes(self.rates[part], keys, x, out, self.scratch)
        if self._some_get_nothing:
            out[(self.rates[part] <= 0.0) | (self.weights[part] <= 0.0)] = 0.0


def excess(total: float, budget: float) -> float:
    """ln(total / budget); -700 where the total is 0."""
    return math.log(total / budget) if total > 0.0 else -700.0


def solve_bins(objects: BudgetedObjects, curve: AllocationCurve, budget: float, start: float, most: float) -> Root:
    """Find the x <= `most` at which the refreshes of the bins add up to the budget, from the guess `start`."""
    return falling_root(
        lambda x: excess(objects.refresh_bins(curve, x), budget), start, curve.slope, BINS_TOLERANCE, most
    )


def solve(objects: BudgetedObjects, curve: AllocationCurve, budget: float, of_bins: Root, most: float) -> FloatArray:
    """The refreshes, (n,), on the curve at x <= `most` that add up to the budget > 0; x is near that of the bins.

    The refreshes may jump across the budget between neighbouring floats x, since an object at the edge has f =
    lambda / 36 at one and 0 at the next. The result is then interpolated; all values between are equally good.
    """
    refreshes = np.zeros(len(objects.rates))
    before, after = objects.refresh_bins(curve, of_bins.low - STEP), objects.refresh_bins(curve, of_bins.low + STEP)
    slope = min(-excess(before, after) / (2.0 * STEP), -1e-3)
    root = falling_root(
        lambda x: excess(objects.refresh(curve, x, refreshes), budget), of_bins.low, slope, TOLERANCE, most,
        second_guess=of_bins.high if of_bins.low < of_bins.high else None,
    )
    if root.low < root.high:
        above, below = budget * math.exp(root.low_value), budget * math.exp(root.high_value)
        objects.approach(curve, root.low, refreshes, (budget - below) / (above - below))
    refreshes *= budget / float(refreshes.sum())
    return refreshes


def freshest(rates: FloatArray, weights: FloatArray, budget: float) -> FloatArray:
    """The refreshes that maximise sum w F; all arrays are (n,), rates and weights finite and >= 0, budget > 0.

    Two extreme cases are solved apart. A small budget, at which the best objects have s > 37, goes to these alone, in
    proportion to their rates. Where the best objects would get more than 1e130 refreshes per update, rates are raised
    to `FEWEST_UPDATES` per refresh, so that the other objects, which take nearly all of the budget, get their share.
    """
    with np.errstate(all="ignore"):
        objects = BudgetedObjects(rates, weights, FreshnessCurve)
        if not len(objects.bin_rates):
            return np.zeros(len(rates))
        curve = FreshnessCurve(objects.least_key)
        objects.bin_keys[0] = objects.least_key
        if objects.refresh_bins(curve, 0.0) > budget:
            best = objects.best_rates()
            total = float(best.sum())
            if budget <= total / float(ratio_of_surprise(np.array([CERTAIN_SURPRISE]))[0]):
                return best * (budget / total)
        if objects.refresh_bins(curve, LEAST_X) < budget:
            per_refresh = np.where(rates > 0.0, np.clip(rates / budget, FEWEST_UPDATES, MOST), 0.0)
            return freshest(per_refresh, weights, 1.0) * budget
        most = math.log(CERTAIN_SURPRISE)
        start = solve_bins(objects, curve, budget, 0.0, most).low
        edge = curve.edge_bin(start)
        objects.split_bins(curve, edge - EDGE_BELOW, edge + EDGE_ABOVE)
        return solve(objects, curve, budget, solve_bins(objects, curve, budget, start, most), most)


def youngest(rates: FloatArray, weights: FloatArray, budget: float) -> FloatArray:
    """The refreshes that minimise sum w A; all arrays are (n,), rates and weights finite and >= 0, budget > 0."""
    with np.errstate(all="ignore"):
        objects = BudgetedObjects(rates, weights, AgeCurve)
        if not len(objects.bin_rates):
            return np.zeros(len(rates))
        curve = AgeCurve()
        return solve(objects, curve, budget, solve_bins(objects, curve, budget, 0.0, math.inf), math.inf)
