"""The refreshes of objects at a given Lagrange multiplier, looked up on a curve that all objects share.

All functions work in place on one chunk of objects, since they run several times over millions of objects.
"""

import math
from typing import Protocol

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import Scratch
from bestbefore.policies.prefetch.allocation.ratio import LEAST_LOG_V, MOST_LOG_V, age_curve, freshness_curve
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray

BITS_PER_BIN = 43
"""Floats that differ only in their last 43 bits share a bin: 512 bins in each octave."""
LEAST_KEY, MOST_KEY = 1e-290, 1e300
"""The range to which lambda / w is clipped, so that no quotient overflows."""
LEAST_LOG_R = -690.0
"""The least ln r, below which 1/r would overflow."""
LEAST_X = -600.0
"""The least x = ln L of the search. Below it every r < 1 is below 1e-130, where refreshes are all scaled alike."""
NOTHING_LEFT = float(np.nextafter(-1.0, 0.0))
"""The largest argument of log1p that counts as -1. 1 - y is computed as 1 + (y' - y) / y' with y' < 1; if the quotient
is no more than this, rounding has left nothing, and y >= 1."""


class AllocationCurve(Protocol):
    """The refreshes as a decreasing function of x, a logarithm of the multiplier over which the root is searched."""

    slope: float
    """d ln(refreshes) / dx where budgets are large."""

    def keys(self, rates: FloatArray, weights: FloatArray, out: FloatArray) -> None:
        """Write the key of each object, its position on the curve, into `out`; all arrays are (n,)."""

    def bins(self, keys: FloatArray) -> IntArray:
        """The bin number of each key, increasing with the key; rates and weights must be positive."""

    def refreshes(self, rates: FloatArray, keys: FloatArray, x: float, out: FloatArray, scratch: Scratch) -> None:
        """Write the refreshes f into `out`; distinct arrays (n,), n <= CHUNK; `keys` is overwritten."""


class FreshnessCurve:
    """The curve of freshness, with the key z = lambda / w and x = ln L, where L is s of the object with the least z.

    With d = z / z_least - 1, s = L - ln(1 - d (e^L - 1)). This is s = -ln(1 - mu z) in a form that is exact also where
    mu z rounds to 1.0 in float64 (L > 36) and where mu z is tiny.
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
        """512 bins in each octave, from the leading bits of the float."""
        return keys.view(np.int64) >> BITS_PER_BIN

    def edge_bin(self, x: float) -> int:
        """The bin number of the key with 1 - mu z = 0, from which on objects get no refresh."""
        edge = self._least * (1.0 + 1.0 / math.expm1(math.exp(x)))
        return int(self.bins(np.array([min(edge, MOST_KEY)]))[0])

    def refreshes(self, rates: FloatArray, keys: FloatArray, x: float, out: FloatArray, scratch: Scratch) -> None:
        """f = lambda / r(s); exactly 0 where 1 - mu z <= 0."""
        surprise = math.exp(x)
        np.subtract(self._least, keys, out=keys)
        np.multiply(keys, math.expm1(surprise) / self._least, out=keys)
        np.maximum(keys, NOTHING_LEFT, out=keys)  # log1p(-1) is infinite, and six times as slow
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
    """The curve of age, with the key 2 ln(lambda) - ln(w) and x = ln(mu).

    ln v = x + key, and ln r is a table over ln v. Every object with a rate and a weight gets refreshes.
    """

    slope = -1.0 / 3.0

    @staticmethod
    def keys(rates: FloatArray, weights: FloatArray, out: FloatArray) -> None:
        """2 ln(lambda) - ln(w), which does not overflow for any rates and weights."""
        np.log(rates, out=out)
        np.multiply(out, 2.0, out=out)
        np.subtract(out, np.log(weights), out=out)

    @staticmethod
    def bins(keys: FloatArray) -> IntArray:
        """512 bins for each doubling of lambda^2 / w."""
        return np.floor(keys * (512.0 / math.log(2.0))).astype(np.int64)

    def refreshes(self, rates: FloatArray, keys: FloatArray, x: float, out: FloatArray, scratch: Scratch) -> None:
        """f = lambda / r(v)."""
        np.add(keys, x, out=keys)
        age_curve().at(keys, out, scratch)
        # negated comparisons, as the key of an object with rate and weight 0 is NaN
        if not keys.min() >= LEAST_LOG_V:
            np.add(out, np.minimum(keys - LEAST_LOG_V, 0.0) / 3.0, out=out)
            np.maximum(out, LEAST_LOG_R, out=out)
        if not keys.max() <= MOST_LOG_V:
            np.add(out, np.maximum(keys - MOST_LOG_V, 0.0) / 2.0, out=out)
        np.negative(out, out=out)
        np.exp(out, out=out)
        np.multiply(out, rates, out=out)
