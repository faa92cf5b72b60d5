"""The gains of one more visit in age or in delay, for many objects; the interface is `gains.Gains`.

Visits are evenly spaced and updates are Poisson. n visits make n intervals in a plan that repeats (`periodic`), and
n + 1 in a plan that begins with current copies (`interval`). Without an interval age and delay are infinite, so in a
periodic plan each object with a rate and a weight gets at least one visit.

Source: the measures are those of `objectives`; the algorithm of `best` is exact for them.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.allocation.objectives import Measure, age, delay
from bestbefore.policies.prefetch.checked import IntArray, checked
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary
from bestbefore.policies.units import FloatArray


class WaitingGains:
    """The gains w (m(n) - m(n+1)) of a measure m that is convex and decreasing in the number n of intervals.

    `rates` are updates per period. Raises as `checked` does.
    """

    def __init__(self, measure: Measure, rates: ArrayLike, weights: ArrayLike | None, boundary: Boundary) -> None:
        self._measure = measure
        self._rates, self._weights = checked(rates, weights)
        self._boundary: Boundary = boundary
        self._fresh = 1 if boundary == "interval" else 0

    @classmethod
    def of_age(cls, rates: ArrayLike, weights: ArrayLike | None, boundary: Boundary) -> Self:
        """Make the gains of `objectives.age`."""
        return cls(age, rates, weights, boundary)

    @classmethod
    def of_delay(cls, rates: ArrayLike, weights: ArrayLike | None, boundary: Boundary) -> Self:
        """Make the gains of `objectives.delay`."""
        return cls(delay, rates, weights, boundary)

    def __len__(self) -> int:
        return len(self._rates)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold; see `Gains.count`.

        The derivative of a measure bounds the gain of the interval after n: w lambda / (2 n^2) in delay, w / (2 n^2) in
        age. Bisection below this bound finds the number.
        """
        steepness = self._weights * (self._rates if self._measure is delay else self._rates > 0.0)
        with np.errstate(over="ignore"):
            bound = np.floor(np.sqrt(steepness / (2.0 * threshold))) + 1.0 - self._fresh
        enough = np.zeros(len(self), np.int64)
        beyond = np.minimum(np.where(steepness > 0.0, np.maximum(bound, 1.0), 0.0), maximum).astype(np.int64)
        while (open_ := np.flatnonzero(enough < beyond)).size:
            middle = (enough[open_] + beyond[open_] + 1) // 2
            gained = self.of(open_, middle - 1) >= threshold
            enough[open_] = np.where(gained, middle, enough[open_])
            beyond[open_] = np.where(gained, beyond[open_], middle - 1)
        return enough

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits; see `Gains.of`. The gain of the first interval is infinite."""
        rates, intervals = self._rates[objects], visits.astype(np.float64) + self._fresh
        live = (rates > 0.0) & (self._weights[objects] > 0.0)
        lessened = np.zeros(len(objects))
        fewer, more = (self._measure(rates[live], n[live]) for n in (intervals, intervals + 1.0))
        lessened[live] = self._weights[objects][live] * (fewer - more)
        return lessened

    def subset(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects; see `Gains.subset`."""
        return type(self)(self._measure, self._rates[objects], self._weights[objects], self._boundary)
