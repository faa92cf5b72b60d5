"""The gains of one more visit to each of many objects: w_i (A_i(x) - A_i(x+1)), which do not increase with x."""

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.models.renewal.laws import RenewalLaw
from bestbefore.policies.prefetch.allocation.cubics import Scratch, chunks
from bestbefore.policies.prefetch.allocation.curves import NOTHING_LEFT
from bestbefore.policies.prefetch.allocation.ratio import freshness_curve
from bestbefore.policies.prefetch.checked import IntArray, RowError, checked, checked_numbers
from bestbefore.policies.prefetch.discrete.staleness import staleness_table
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates
from bestbefore.policies.units import FloatArray

ROUNDING = 1e-9
"""The deviation from convexity, relative to A(0), that counts as rounding error."""


class Gains(Protocol):
    """The gains of n objects, numbered from 0."""

    def __len__(self) -> int:
        """Return the number n of objects."""

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """(n,) the number of visits to each object with a gain of `threshold` > 0 or more, at most `maximum`, (n,)."""

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """(m,) the gain of one more visit, for m pairs of an object and the number of its visits so far."""

    def subset(self, objects: IntArray) -> Self:
        """Return the gains of these objects, (m,) ascending numbers, which are renumbered from 0."""


class PoissonGains:
    """The gains under Poisson updates: with n intervals and r = lambda / n, 1 - A = (1 - e^-r) / r (equation 14).

    `rates` are updates per period.
    """

    def __init__(self, rates: ArrayLike, weights: ArrayLike | None, boundary: Boundary) -> None:
        self._rates, self._weights = checked(rates, weights)
        self._boundary: Boundary = boundary
        self._fresh = 1 if boundary == "interval" else 0
        """The number of intervals without any visit."""

    def __len__(self) -> int:
        return len(self._rates)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold; see `Gains.count`.

        The gain of one more interval lies between the derivatives before and after it. If the derivative equals the
        threshold at n* intervals, all intervals up to floor(n*) gain enough, perhaps one more, and none beyond.
        """
        counts = np.empty(len(self), np.int64)
        scratch = Scratch()
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                self._count(threshold, part, maximum[part], counts[part], scratch)
        return counts

    def _count(self, threshold: float, part: slice, maximum: IntArray, out: IntArray, scratch: Scratch) -> None:
        rates, weights = self._rates[part], self._weights[part]
        q, intervals = scratch.first[:len(rates)], scratch.second[:len(rates)]
        # 1 - (1+r) e^-r = threshold lambda / w; see `ratio`
        np.divide(rates, weights, out=q)
        np.multiply(q, -threshold, out=q)
        np.maximum(q, NOTHING_LEFT, out=q)
        some = scratch.flag[:len(rates)]
        np.greater(q, NOTHING_LEFT, out=some)
        np.log1p(q, out=q)
        np.negative(q, out=q)
        np.sqrt(q, out=q)
        freshness_curve().at(q, intervals, scratch)
        np.multiply(intervals, rates, out=intervals)
        np.multiply(intervals, some, out=intervals)
        np.divide(intervals, q, out=intervals)
        np.floor(intervals, out=intervals)
        np.minimum(intervals, maximum + self._fresh, out=intervals)
        intervals += weights * _fresher(rates, intervals) >= threshold
        np.subtract(intervals, self._fresh, out=intervals)
        np.clip(intervals, 0.0, maximum, out=intervals)
        intervals[~((rates > 0.0) & (weights > 0.0))] = 0.0
        np.copyto(out, intervals, casting="unsafe")

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits; see `Gains.of`."""
        rates = self._rates[objects]
        intervals = visits.astype(np.float64) + self._fresh
        with np.errstate(all="ignore"):
            gained = self._weights[objects] * _fresher(rates, intervals)
        return np.where(rates > 0.0, gained, 0.0)

    def subset(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects; see `Gains.subset`."""
        return type(self)(self._rates[objects], self._weights[objects], self._boundary)


def _fresher(rates: FloatArray, intervals: FloatArray) -> FloatArray:
    """G(n+1) - G(n), where G(n) = (1 - e^-r) / r, r = lambda / n, G(0) = 0; exact also where both are nearly equal."""
    after = rates / (intervals + 1.0)
    lost = np.expm1(-after)
    # e^-(lambda/n) = e^-after e^-(after/n); where n = 0, the last factor is 0
    return (intervals * (1.0 + lost) * np.expm1(-after / intervals) - lost) / rates


class TabulatedGains:
    """The gains of any convex A(x) as a table, up to a number of visits beyond which the gain is 0."""

    def __init__(self, gains: FloatArray) -> None:
        """Take `gains` (n, k), the gain of the first, ..., the k-th visit to each object; rows do not increase."""
        self._gains = gains

    @classmethod
    def of_table(cls, table: ArrayLike, weights: ArrayLike) -> Self:
        """Make gains from A_i(0) ... A_i(k), (n, k+1), and weights, (n,).

        Raises a `RowError` for the first object whose A increases, is not convex, or is not finite.
        """
        values, checked_weights = np.asarray(table, dtype=np.float64), checked_numbers(weights, "the weight")
        if values.ndim != 2 or len(values) != len(checked_weights) or not values.shape[1]:
            raise ValueError(f"a table of shape {values.shape} for {len(checked_weights)} weights, expected as many")
        gained = -np.diff(values, axis=1)
        # rounding may raise a gain slightly above the one before it; this is corrected
        falling = np.minimum.accumulate(np.maximum(gained, 0.0), axis=1)
        wrong = ~(np.abs(gained - falling) <= ROUNDING * np.abs(values[:, :1])).all(axis=1)
        if wrong.any():
            raise RowError(int(wrong.argmax()), "the staleness is not convex and falling in the number of visits")
        return cls(falling * checked_weights[:, None])

    @classmethod
    def of_laws(
        cls,
        laws: Sequence[RenewalLaw | PotentialUpdates],
        weights: ArrayLike,
        period: float,
        boundary: Boundary,
        most: int,
    ) -> Self:
        """Make gains from one law for each object, up to `most` visits in a period in the unit of the laws."""
        return cls.of_table(staleness_table(laws, most, period, boundary), weights)

    def __len__(self) -> int:
        return len(self._gains)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold; see `Gains.count`."""
        return np.minimum((self._gains >= threshold).sum(axis=1, dtype=np.int64), maximum)

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits; see `Gains.of`."""
        known = visits < self._gains.shape[1]
        gained = np.zeros(len(objects))
        gained[known] = self._gains[objects[known], visits[known]]
        return gained

    def subset(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects; see `Gains.subset`."""
        return type(self)(self._gains[objects])


class MixedGains:
    """The gains of objects of several kinds; a part has the numbers of its objects, (m,) ascending, and their gains."""

    def __init__(self, parts: Sequence[tuple[IntArray, Gains]]) -> None:
        """Join parts that together contain each number of 0 ... n-1 once.

        Raises ValueError if they do not, or if a part has more or fewer numbers than gains.
        """
        self._parts = parts
        together = np.concatenate([objects for objects, _ in parts]) if parts else np.zeros(0, np.int64)
        if not np.array_equal(np.sort(together), np.arange(len(together))):
            raise ValueError("the parts do not number each object once from 0")
        self._part = np.empty(len(together), np.int64)
        self._within = np.empty(len(together), np.int64)
        for number, (objects, gains) in enumerate(parts):
            if len(objects) != len(gains):
                raise ValueError(f"part {number} numbers {len(objects)} objects, but has the gains of {len(gains)}")
            self._part[objects] = number
            self._within[objects] = np.arange(len(objects))

    def __len__(self) -> int:
        return len(self._part)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold; see `Gains.count`."""
        counts = np.empty(len(self), np.int64)
        for objects, gains in self._parts:
            counts[objects] = gains.count(threshold, maximum[objects])
        return counts

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits; see `Gains.of`."""
        gained = np.empty(len(objects))
        for number, (_, gains) in enumerate(self._parts):
            here = self._part[objects] == number
            gained[here] = gains.of(self._within[objects[here]], visits[here])
        return gained

    def subset(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects; see `Gains.subset`."""
        parts = []
        for number, (_, gains) in enumerate(self._parts):
            here = np.flatnonzero(self._part[objects] == number)
            parts.append((here, gains.subset(self._within[objects[here]])))
        return type(self)(parts)
