"""The optimal continuous allocation: the one multiplier at which the refreshes of all objects add up to the budget.

Cost: O(N), in passes over chunks. The first pass gathers the objects in a histogram of what decides their place on the
curve; the multiplier that fits its bins (some ten thousand, however many objects) fits the objects almost exactly, and
one or two passes over them do the rest. Memory: the answer, and nothing else of length N.
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
"""Of the budget: how far off refreshes may be that are then scaled to it. The objective errs by its square."""
BINS_TOLERANCE = 1e-10
"""The same for the bins, which represent the objects to about 1e-7."""
STEP = 1e-3
"""In x, to either side: over which the slope is taken."""
EDGE_BELOW, EDGE_ABOVE = 16, 2
"""The bins next to that of y = 1 in which objects are looked at one by one: there the curve is too bent for bins."""
MANY = 1 << 17
"""That many objects are not looked at one by one before the passes over all."""
FEWEST_UPDATES = 1e-120
"""For each refresh of the budget. The best objects have r of that or more then, far above `LEAST_X`."""
CERTAIN_SURPRISE = 37.0
"""Where the best object has s = r - ln(1+r) above this, that of every other is infinite in float64."""


class BudgetedObjects:
    """The objects among which a budget is divided, and the passes over them."""

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
        """Write the refreshes of all objects at x into `out`, and give their sum."""
        total = 0.0
        for part in chunks(len(self.rates)):
            self._refresh(curve, x, part, out[part])
            total += float(out[part].sum())
        return total

    def approach(self, curve: AllocationCurve, x: float, out: FloatArray, share: float) -> None:
        """Move `out` by a share in [0, 1] towards the refreshes at x."""
        for part in chunks(len(self.rates)):
            there = self.scratch.second[:len(out[part])]
            self._refresh(curve, x, part, there)
            np.subtract(there, out[part], out=there)
            np.multiply(there, share, out=there)
            np.add(out[part], there, out=out[part])

    def single_out(self, curve: FreshnessCurve, low: int, high: int) -> None:
        """Put the objects in the bins of numbers [low, high] each into a bin of its own, unless they are `MANY`."""
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
        """The sum of the refreshes at x, were all objects of a bin in its middle."""
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
    """ln(total / budget), and a large negative number where nothing is spent."""
    return math.log(total / budget) if total > 0.0 else -700.0


def solve_bins(objects: BudgetedObjects, curve: AllocationCurve, budget: float, start: float, most: float) -> Root:
    """The x <= most at which the refreshes of the bins add up to the budget, searched for from `start`."""
    return falling_root(
        lambda x: excess(objects.refresh_bins(curve, x), budget), start, curve.slope, BINS_TOLERANCE, most
    )


def solve(objects: BudgetedObjects, curve: AllocationCurve, budget: float, of_bins: Root, most: float) -> FloatArray:
    """The refreshes, (n,), that lie on the curve at x <= most and add up to the budget > 0; x is near that of the bins.

    Where neighbouring multipliers in float64 lie on either side of the budget (an object at the edge of being given up
    has f = lambda / 36 at one and 0 at the next) the answer lies between theirs: all that is between is as good.
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
    """The refreshes that maximise sum w F; all (n,), rates and weights finite and >= 0, budget > 0.

    A budget below that at which the best objects have s = 37 goes to them alone, in proportion to their rates. Where
    the best would get 1e130 refreshes for each update, objects with fewer updates than `FEWEST_UPDATES` count as having
    so many, as others would be given up for them. Nearly all of the budget goes to those others, if there are any.
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
        objects.single_out(curve, edge - EDGE_BELOW, edge + EDGE_ABOVE)
        return solve(objects, curve, budget, solve_bins(objects, curve, budget, start, most), most)


def youngest(rates: FloatArray, weights: FloatArray, budget: float) -> FloatArray:
    """The refreshes that minimise sum w A; all (n,), rates and weights finite and >= 0, budget > 0."""
    with np.errstate(all="ignore"):
        objects = BudgetedObjects(rates, weights, AgeCurve)
        if not len(objects.bin_rates):
            return np.zeros(len(rates))
        curve = AgeCurve()
        return solve(objects, curve, budget, solve_bins(objects, curve, budget, 0.0, math.inf), math.inf)
