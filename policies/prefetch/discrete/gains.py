"""The gain of one more visit to each of many objects: w_i (A_i(x) - A_i(x+1)), which never rises with x."""

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
"""By how much, against A(0), a table may fail to be convex before it counts as such."""


class Gains(Protocol):
    """The gains of n objects, numbered from 0."""

    def __len__(self) -> int:
        """Return the number n of objects."""

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """(n,) how many visits to each object gain `threshold` > 0 or more, at most `maximum`, (n,)."""

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return what the visit after `visits` gains, for pairs of an object and a number of visits; all (m,)."""

    def only(self, objects: IntArray) -> Self:
        """The same of these objects alone, (m,) ascending numbers; the first of them becomes 0."""


class PoissonGains:
    """Updates at random: with n intervals and r = lambda / n, 1 - A = (1 - e^-r) / r (equation 14).

    `rates` are updates per period.
    """

    def __init__(self, rates: ArrayLike, weights: ArrayLike | None, boundary: Boundary) -> None:
        self._rates, self._weights = checked(rates, weights)
        self._boundary: Boundary = boundary
        self._fresh = 1 if boundary == "interval" else 0
        """How many intervals there are without a visit."""

    def __len__(self) -> int:
        return len(self._rates)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold, as `Gains.count` says.

        The gain of an interval more lies between the derivatives at its ends. So where the derivative is the threshold
        at n* intervals, all up to floor(n*) gain enough, perhaps one more, and none beyond.
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
        """Return the gains of single visits, as `Gains.of` says."""
        rates = self._rates[objects]
        intervals = visits.astype(np.float64) + self._fresh
        with np.errstate(all="ignore"):
            gained = self._weights[objects] * _fresher(rates, intervals)
        return np.where(rates > 0.0, gained, 0.0)

    def only(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects, as `Gains.only` says."""
        return type(self)(self._rates[objects], self._weights[objects], self._boundary)


def _fresher(rates: FloatArray, intervals: FloatArray) -> FloatArray:
    """G(n+1) - G(n), where G(n) = (1 - e^-r) / r, r = lambda / n, G(0) = 0: exact also where the two nearly agree."""
    after = rates / (intervals + 1.0)
    lost = np.expm1(-after)
    # e^-(lambda/n) = e^-after e^-(after/n); where n = 0, the last factor is 0
    return (intervals * (1.0 + lost) * np.expm1(-after / intervals) - lost) / rates


class TabulatedGains:
    """The gains of any convex A(x), up to a number of visits beyond which nothing is gained."""

    def __init__(self, gains: FloatArray) -> None:
        """`gains` is (n, k): what the first, ..., the k-th visit to each object is worth; no row rises."""
        self._gains = gains

    @classmethod
    def of_table(cls, table: ArrayLike, weights: ArrayLike) -> Self:
        """Make gains from A_i(0) ... A_i(k), (n, k+1), and weights, (n,).

        Raises a `RowError` for the first object whose A rises, is not convex, or not finite.
        """
        values, checked_weights = np.asarray(table, dtype=np.float64), checked_numbers(weights, "the weight")
        if values.ndim != 2 or len(values) != len(checked_weights) or not values.shape[1]:
            raise ValueError(f"a table of shape {values.shape} for {len(checked_weights)} weights, expected as many")
        gained = -np.diff(values, axis=1)
        # rounding may let a difference rise by next to nothing; here no visit counts for more than the one before it
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
        """Make gains from one law for each object, up to `most` visits in a period.

        The period is in the unit of the laws.
        """
        return cls.of_table(staleness_table(laws, most, period, boundary), weights)

    def __len__(self) -> int:
        return len(self._gains)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold, as `Gains.count` says."""
        return np.minimum((self._gains >= threshold).sum(axis=1, dtype=np.int64), maximum)

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits, as `Gains.of` says."""
        known = visits < self._gains.shape[1]
        gained = np.zeros(len(objects))
        gained[known] = self._gains[objects[known], visits[known]]
        return gained

    def only(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects, as `Gains.only` says."""
        return type(self)(self._gains[objects])


class MixedGains:
    """Objects of several kinds: each part is the numbers of its objects, (m,) ascending, and their gains."""

    def __init__(self, parts: Sequence[tuple[IntArray, Gains]]) -> None:
        """Join parts, whose numbers together are 0 ... n-1, each once.

        ValueError if they are not, or a part's numbers differ.
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
        """Count the visits that gain at least the threshold, as `Gains.count` says."""
        counts = np.empty(len(self), np.int64)
        for objects, gains in self._parts:
            counts[objects] = gains.count(threshold, maximum[objects])
        return counts

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits, as `Gains.of` says."""
        gained = np.empty(len(objects))
        for number, (_, gains) in enumerate(self._parts):
            here = self._part[objects] == number
            gained[here] = gains.of(self._within[objects[here]], visits[here])
        return gained

    def only(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects, as `Gains.only` says."""
        parts = []
        for number, (_, gains) in enumerate(self._parts):
            here = np.flatnonzero(self._part[objects] == number)
            parts.append((here, gains.only(self._within[objects[here]])))
        return type(self)(parts)
