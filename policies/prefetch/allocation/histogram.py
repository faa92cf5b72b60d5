"""A histogram of objects over integer bins, which replaces millions of objects by some ten thousand bins."""

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray


class Histogram:
    """Bins of objects with nearly equal keys: for each bin the sum of the rates and the weighted mean of the keys."""

    def __init__(self) -> None:
        self._first = 0
        self._mass = np.zeros(0)
        self._moment = np.zeros(0)

    def add(self, numbers: IntArray, rates: FloatArray, keys: FloatArray) -> None:
        """Add objects to the bins `numbers`, any integers; all arrays are (n,), n > 0."""
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

    def filled(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The numbers, sums of rates and mean keys of the non-empty bins, ascending by number; all (bins,)."""
        filled = np.flatnonzero(self._mass > 0.0)
        return filled + self._first, self._mass[filled], self._moment[filled] / self._mass[filled]
