"""A histogram of objects over integer bins, which replaces millions of objects by some ten thousand bins."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of objects with nearly equal keys, ascending by number, or single objects of one bin."""

    numbers: IntArray
    """(bins,)"""
    rates: FloatArray
    """(bins,) the sum of the rates, > 0."""
    keys: FloatArray
    """(bins,) the mean of the keys, weighted by rates."""
    least_key: float
    """The least key of an object; infinite without any."""


class Histogram:
    """The sums from which bins are made: the rates and the moments of the keys, for each integer from the first on."""

    def __init__(self) -> None:
        self._first = 0
        self._mass = np.zeros(0)
        self._moment = np.zeros(0)
        self._least_key = math.inf

    def add(self, numbers: IntArray, rates: FloatArray, keys: FloatArray) -> None:
        """Add objects to the bins `numbers`, any integers; all arrays are (n,), n > 0."""
        self._least_key = min(self._least_key, float(keys.min()))
        low = int(numbers.min())
        within = numbers - low
        mass = np.bincount(within, weights=rates)
        moment = np.bincount(within, weights=rates * keys)
        if not len(self._mass):
            self._first = low
        before = max(0, self._first - low)
        after = max(0, low + len(mass) - self._first - len(self._mass))
        if before or after:
            self._mass = np.pad(self._mass, (before, after))
            self._moment = np.pad(self._moment, (before, after))
            self._first -= before
        start = low - self._first
        self._mass[start:start + len(mass)] += mass
        self._moment[start:start + len(mass)] += moment

    def filled(self) -> Bins:
        """Return the bins that are not empty."""
        filled = np.flatnonzero(self._mass > 0.0)
        mass = self._mass[filled]
        return Bins(filled + self._first, mass, self._moment[filled] / mass, self._least_key)


def merged(parts: Iterable[Bins]) -> Bins:
    """Return the bins of all objects from those of each part."""
    some = [bins for bins in parts if len(bins.numbers)]
    if len(some) == 1:
        return some[0]
    histogram = Histogram()
    for bins in some:
        histogram.add(bins.numbers, bins.rates, bins.keys)
    whole = histogram.filled()
    return Bins(whole.numbers, whole.rates, whole.keys, min((bins.least_key for bins in some), default=math.inf))
