"""A histogram that grows as objects are added: bins in place of millions of objects."""

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray


class Histogram:
    """Objects with nearly equal keys, taken together: the sum of their rates, and the mean of their keys."""

    def __init__(self) -> None:
        self._first = 0
        self._mass = np.zeros(0)
        self._moment = np.zeros(0)

    def add(self, numbers: IntArray, rates: FloatArray, keys: FloatArray) -> None:
        """Put objects into the bins `numbers`, any integers; all (n,), n > 0."""
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
        """The numbers, sums of rates and mean keys of the bins that are not empty, by rising key; all (bins,)."""
        filled = np.flatnonzero(self._mass > 0.0)
        return filled + self._first, self._mass[filled], self._moment[filled] / self._mass[filled]
