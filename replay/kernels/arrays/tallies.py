"""The observed updates of many owners, objects or groups, with counts by hour bin over the history window.

A decision at t counts the updates in (t - D, t]. Decisions are made in order of time, and only past updates are
observed; so the counts of an owner are kept, and updates that have left the window are subtracted when the counts are
read. Compiled unchanged by `compiled`.
"""

from collections.abc import MutableSequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.units import BINS, HOUR_S, FloatArray
from bestbefore.replay.kernels.arrays.rows import in_rows


class Tallies(NamedTuple):
    """Events of owners in order of time: those of owner i are in the places from `firsts[i]` up to `ends[i]`."""

    times_s: FloatArray
    """(places,) when."""
    bins: NDArray[np.uint8]
    """(places,) the hour bin of that."""
    amounts: NDArray[np.int32]
    """(places,) how much."""
    firsts: NDArray[np.int64]
    """(owners + 1,)"""
    ends: NDArray[np.int64]
    """(owners,) more places may follow, up to the next owner's first."""

    @classmethod
    def empty(cls, firsts: NDArray[np.int64]) -> Self:
        """Make tallies without events, with places for the later ones."""
        n = int(firsts[-1])
        bins, amounts = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.int32)
        return cls(np.zeros(n), bins, amounts, firsts, firsts[:-1].copy())

    def copy(self) -> Self:
        """Return a copy to which can be added independently. It shares what is never written to."""
        times_s, bins, amounts = in_rows(self.times_s, self.bins, self.amounts)
        return self._replace(times_s=times_s, bins=bins, amounts=amounts, ends=self.ends.copy())


class Window(NamedTuple):
    """The part of `Tallies` that is not too old."""

    oldest: NDArray[np.int64]
    """(owners,) the first place in it."""
    by_bin: NDArray[np.int32]
    """(owners, 24) how much of it lies in each hour bin."""
    totals: NDArray[np.int64]
    """(owners,) how much that is in all."""
    weekends: NDArray[np.int64]
    """(owners,) how much of it lies in weekends."""

    @classmethod
    def of(cls, tallies: Tallies) -> Self:
        """Nothing is too old yet."""
        owners = len(tallies.ends)
        by_bin, totals = np.zeros((owners, BINS), dtype=np.int32), np.zeros(owners, np.int64)
        window = cls(tallies.firsts[:-1].copy(), by_bin, totals, totals.copy())
        places = np.flatnonzero(tallies.amounts)
        owner = tallies.firsts.searchsorted(places, side="right") - 1
        np.add.at(window.by_bin, (owner, tallies.bins[places]), tallies.amounts[places])
        np.add.at(window.totals, owner, tallies.amounts[places])
        at_weekend = np.fromiter(map(is_weekend, tallies.times_s[places].tolist()), dtype=np.bool_, count=len(places))
        np.add.at(window.weekends, owner[at_weekend], tallies.amounts[places[at_weekend]])
        return window


def insert(window: Window, tallies: Tallies, owner: int, place: int, time_s: float) -> None:
    """Insert a time at a place of an owner, without counting it."""
    for i in range(tallies.ends[owner], place, -1):
        tallies.times_s[i] = tallies.times_s[i - 1]
        tallies.bins[i] = tallies.bins[i - 1]
        tallies.amounts[i] = tallies.amounts[i - 1]
    tallies.ends[owner] += 1
    tallies.times_s[place] = time_s
    tallies.bins[place] = int(np.floor(time_s / HOUR_S) % BINS)
    tallies.amounts[place] = 0
    if place < window.oldest[owner]:
        window.oldest[owner] += 1


def count_in(window: Window, tallies: Tallies, owner: int, place: int) -> None:
    """Count one more event at a place, in the window too unless it is too old."""
    tallies.amounts[place] += 1
    if place >= window.oldest[owner]:
        window.by_bin[owner, tallies.bins[place]] += 1
        window.totals[owner] += 1
        window.weekends[owner] += is_weekend(tallies.times_s[place])


def keep_after(window: Window, tallies: Tallies, owner: int, after_s: float) -> None:
    """Take out of an owner's counts what is not after that; the next time this must not be earlier."""
    place, end = window.oldest[owner], tallies.ends[owner]
    while place < end and tallies.times_s[place] <= after_s:
        window.by_bin[owner, tallies.bins[place]] -= tallies.amounts[place]
        window.totals[owner] -= tallies.amounts[place]
        if is_weekend(tallies.times_s[place]):
            window.weekends[owner] -= tallies.amounts[place]
        place += 1
    window.oldest[owner] = place


def set_counts(counts: MutableSequence[int], window: Window, owner: int) -> None:
    """Set counts[k] to what of an owner lies in hour bin k."""
    for k in range(BINS):
        counts[k] = window.by_bin[owner, k]
