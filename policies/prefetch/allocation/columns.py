"""The columns of the objects of one part, and the passes over them that a search for the multiplier needs.

A pass runs chunk by chunk, in buffers that stay in the processor's cache.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.allocation.cubics import Scratch, chunks
from bestbefore.policies.prefetch.allocation.curves import AgeCurve, AllocationCurve, FreshnessCurve
from bestbefore.policies.prefetch.allocation.histogram import Bins, Histogram
from bestbefore.policies.units import FloatArray

MANY = 1 << 17
"""Bins with more objects than this in all are not split."""


@dataclass(slots=True, eq=False)
class PartColumns:
    """The n objects of a part. Rates and weights are finite and >= 0; see `checked.checked`."""

    rates: FloatArray
    """(n,) updates per period."""
    weights: FloatArray
    """(n,)"""
    minimum: FloatArray | None = None
    """(n,) the least contacts per period; None: 0 for all."""
    maximum: FloatArray | None = None
    """(n,) the most contacts per period, or infinity, not below the minimum; None: infinity for all."""
    keeps: bool = False
    """Whether the refreshes of the last pass are kept, as the division probably needs them: 8 bytes for each object."""
    number: int = 0
    """The place of the part among all."""
    owners: NDArray[np.intp] | None = None
    """(n,) the owner of each object, numbered from 0 within the part; None: unknown."""
    _scratch: Scratch | None = None
    _all_live: bool | None = None
    _reach: tuple[FloatArray, FloatArray] | None = None
    _kept: tuple[object, float, FloatArray] | None = None
    """A curve, the x on it, and the refreshes there; or what `keep` was given."""

    def __len__(self) -> int:
        return len(self.rates)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most that each object can get, both (n,); without rate or weight: its minimum."""
        if self._reach is None:
            n = len(self)
            least = np.zeros(n) if self.minimum is None else self.minimum
            most = np.full(n, np.inf) if self.maximum is None else self.maximum
            self._reach = least, np.where(self.live(), most, least)
        return self._reach

    def live(self, part: slice = slice(None)) -> np.ndarray:
        """Whether each of these objects has a rate and a weight."""
        some: np.ndarray = (self.rates[part] > 0.0) & (self.weights[part] > 0.0)
        return some

    def bins(self, curve: type[FreshnessCurve | AgeCurve]) -> Bins:
        """Return the bins of the live objects by their keys."""
        scratch, histogram = self._buffers(), Histogram()
        self._all_live = True
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                rates, weights = self.rates[part], self.weights[part]
                live = self.live(part)
                if not live.all():
                    self._all_live = False
                    rates, weights = rates[live], weights[live]
                if len(rates):
                    keys = scratch.first[:len(rates)]
                    curve.keys(rates, weights, keys)
                    histogram.add(curve.bins(keys), rates, keys)
        return histogram.filled()

    def spent(self, curve: AllocationCurve, x: float) -> float:
        """Return the sum of the refreshes of all objects at x."""
        if self.keeps:
            return self._write(curve, x, self._array(curve, x))
        total, out = 0.0, self._buffers().second
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                here = out[:part.stop - part.start]
                self._refresh(curve, x, part, here)
                total += float(here.sum())
        return total

    def refreshes(self, curve: AllocationCurve, x: float) -> FloatArray:
        """Return the refreshes at x, (n,), an array of the caller's own."""
        if self._kept is None or self._kept[0] is not curve or self._kept[1] != x:
            self._write(curve, x, self._array(curve, x))
        assert self._kept is not None
        out, self._kept = self._kept[2], None
        return out

    def keep(self, of: object, values: FloatArray) -> None:
        """Keep (n,) values of something for `taken`, if this part keeps any."""
        if self.keeps:
            self._kept = of, 0.0, values

    def taken(self, of: object) -> FloatArray | None:
        """Return the values kept of this, which the caller may overwrite, or None."""
        kept, self._kept = self._kept, None
        return kept[2] if kept is not None and kept[0] is of else None

    def approach(self, curve: AllocationCurve, x: float, out: FloatArray, share: float) -> None:
        """Move `out` by `share`, in [0, 1], of the difference to the refreshes at x."""
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                there = self._buffers().second[:len(out[part])]
                self._refresh(curve, x, part, there)
                np.subtract(there, out[part], out=there)
                np.multiply(there, share, out=there)
                np.add(out[part], there, out=out[part])

    def single(self, curve: FreshnessCurve, low: int, high: int) -> tuple[FloatArray, FloatArray] | None:
        """Return the rates and keys of the objects in the bins from `low` to `high`; None if they are over `MANY`."""
        rates, found_keys, found = [np.zeros(0)], [np.zeros(0)], 0
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                keys = self._buffers().first[:len(self.rates[part])]
                curve.keys(self.rates[part], self.weights[part], keys)
                numbers = curve.bins(keys)
                at = np.flatnonzero((numbers >= low) & (numbers <= high))
                found += len(at)
                if found > MANY:
                    return None
                rates.append(self.rates[part][at])
                found_keys.append(keys[at])
        return np.concatenate(rates), np.concatenate(found_keys)

    def rates_at(self, key: float) -> FloatArray:
        """Return the rates of the objects with this key of freshness, (n,), and 0 for all others."""
        best = np.zeros(len(self))
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                keys = self._buffers().first[:len(best[part])]
                FreshnessCurve.keys(self.rates[part], self.weights[part], keys)
                np.copyto(best[part], self.rates[part], where=keys == key)
        return best

    def _buffers(self) -> Scratch:
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch

    def _array(self, curve: AllocationCurve, x: float) -> FloatArray:
        out = np.zeros(len(self)) if self._kept is None else self._kept[2]
        self._kept = curve, x, out
        return out

    def _write(self, curve: AllocationCurve, x: float, out: FloatArray) -> float:
        total = 0.0
        with np.errstate(all="ignore"):
            for part in chunks(len(self)):
                self._refresh(curve, x, part, out[part])
                total += float(out[part].sum())
        return total

    def _refresh(self, curve: AllocationCurve, x: float, part: slice, out: FloatArray) -> None:
        scratch = self._buffers()
        keys = scratch.first[:len(out)]
        curve.keys(self.rates[part], self.weights[part], keys)
        curve.refreshes(self.rates[part], keys, x, out, scratch)
        if self._all_live is None:
            self._all_live = bool(self.rates.min() > 0.0 and self.weights.min() > 0.0)
        if not self._all_live:
            out[~self.live(part)] = 0.0
