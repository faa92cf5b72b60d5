"""The refreshes that follow from a multiplier: an object's place on the universal curve, and back from it.

Everything works in place on one chunk of objects, as it runs over millions of them several times.
"""

import math
from typing import Protocol

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import Scratch
from bestbefore.policies.prefetch.allocation.ratio import LEAST_LOG_V, MOST_LOG_V, age_curve, freshness_curve
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray

BITS_PER_BIN = 43
"""Bins are floats that agree but for their last 43 bits: 512 in each octave."""
LEAST_KEY, MOST_KEY = 1e-290, 1e300
"""Smaller and larger lambda / w count as these, so that none of their quotients overflows."""
LEAST_LOG_R = -690.0
"""Below, 1/r would overflow."""
LEAST_X = -600.0
"""Where ln L is below, r is below 1e-130 wherever it is below 1: refreshes are then only scaled."""
NOTHING_LEFT = float(np.nextafter(-1.0, 0.0))
"""1 - y is computed as 1 + (y' - y) / y', y' < 1; where that is no more than rounding leaves of it, y >= 1."""


class AllocationCurve(Protocol):
    """The refreshes by x, the logarithm by which the multiplier is searched for; they fall as x rises."""

    slope: float
    """d ln(refreshes) / dx where budgets are large."""

    def keys(self, rates: FloatArray, weights: FloatArray, out: FloatArray) -> None:
        """Write into `out` what decides an object's place on the curve; all (n,)."""

    def bins(self, keys: FloatArray) -> IntArray:
        """The number of the bin in which each key lies, rising with the key; of positive rates and weights only."""

    def refreshes(self, rates: FloatArray, keys: FloatArray, x: float, out: FloatArray, scratch: Scratch) -> None:
        """Write f into `out`; all (n,), n <= CHUNK, distinct; `keys` may be written over."""


class FreshnessCurve:
    """Key z = lambda / w. With L = s of the object of least z, and d = z / z_least - 1, s = L - ln(1 - d (e^L - 1)).

    This is s = -ln(1 - mu z) written so that nothing is lost where mu z is 1.0 in float64 (L > 36), nor where it is
    tiny; x = ln L.
    """

    slope = -0.5

    def __init__(self, least_key: float) -> None:
        self._least = least_key

    @staticmethod
    def keys(rates: FloatArray, weights: FloatArray, out: FloatArray) -> None:
        """z = lambda / w."""
        np.divide(rates, weights, out=out)
        np.clip(out, LEAST_KEY, MOST_KEY, out=out)

    @staticmethod
    def bins(keys: FloatArray) -> IntArray:
        """512 in each octave, cut from the bits of the float."""
        return keys.view(np.int64) >> BITS_PER_BIN

    def edge_bin(self, x: float) -> int:
        """The number of the bin in which 1 - mu z = 0."""
        edge = self._least * (1.0 + 1.0 / math.expm1(math.exp(x)))
        return int(self.bins(np.array([min(edge, MOST_KEY)]))[0])

    def refreshes(self, rates: FloatArray, keys: FloatArray, x: float, out: FloatArray, scratch: Scratch) -> None:
        """f = lambda / r(s); exactly 0 where 1 - mu z <= 0."""
        surprise = math.exp(x)
        np.subtract(self._least, keys, out=keys)
        np.multiply(keys, math.expm1(surprise) / self._least, out=keys)
        np.maximum(keys, NOTHING_LEFT, out=keys)  # not -1, whose logarithm is infinite and six times as slow
        some = scratch.flag[:len(keys)]
        np.greater(keys, NOTHING_LEFT, out=some)
        np.log1p(keys, out=keys)
        np.subtract(surprise, keys, out=keys)
        np.sqrt(keys, out=keys)
        freshness_curve().at(keys, out, scratch)
        np.multiply(out, rates, out=out)
        np.multiply(out, some, out=out)
        np.divide(out, keys, out=out)


class AgeCurve:
    """Key 2 ln(lambda) - ln(w), x = ln(mu): ln v = x + key, and ln r is a table over ln v. Nothing is given up."""

    slope = -1.0 / 3.0

    @staticmethod
    def keys(rates: FloatArray, weights: FloatArray, out: FloatArray) -> None:
        """2 ln(lambda) - ln(w), which no size of rates and weights overflows."""
        np.log(rates, out=out)
        np.multiply(out, 2.0, out=out)
        np.subtract(out, np.log(weights), out=out)

    @staticmethod
    def bins(keys: FloatArray) -> IntArray:
        """512 for each doubling of lambda^2 / w."""
        return np.floor(keys * (512.0 / math.log(2.0))).astype(np.int64)

    def refreshes(self, rates: FloatArray, keys: FloatArray, x: float, out: FloatArray, scratch: Scratch) -> None:
        """f = lambda / r(v)."""
        np.add(keys, x, out=keys)
        age_curve().at(keys, out, scratch)
        # "not", as the key of an object with neither rate nor weight is not a number
        if not keys.min() >= LEAST_LOG_V:
            np.add(out, np.minimum(keys - LEAST_LOG_V, 0.0) / 3.0, out=out)
            np.maximum(out, LEAST_LOG_R, out=out)
        if not keys.max() <= MOST_LOG_V:
            np.add(out, np.maximum(keys - MOST_LOG_V, 0.0) / 2.0, out=out)
        np.negative(out, out=out)
        np.exp(out, out=out)
        np.multiply(out, rates, out=out)
