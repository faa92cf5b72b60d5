"""The objects of one part, and what a search for the best whole numbers of visits asks of them."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.gains import Gains
from bestbefore.policies.units import FloatArray

KEPT = 3
"""The number of thresholds whose visits are kept by a part in memory: the bracket, and the last one tried."""


class VisitShare(NamedTuple):
    """The visits of one part in the division of a budget: all at one threshold, and some of those at a lower one."""

    more: float
    """ln of the lower threshold."""
    less: float
    """ln of the higher threshold."""
    last: float
    """Of the visits between, those that gain more than this are made; infinite: none of them."""
    equal: int
    """The number of visits between that are made although they gain just `last`, or any visits if that is infinite; the
    first by object."""


@dataclass(slots=True, eq=False)
class VisitColumns:
    """The n objects of a part with their gains and bounds; see `checked_bounds`."""

    gains: Gains
    least: IntArray
    """(n,) the least visits of each."""
    most: IntArray
    """(n,) the most visits."""
    keeps: bool = False
    """Whether the visits at the last thresholds are kept: 8 bytes for each object and threshold."""
    _kept: dict[float, IntArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.least)

    def total(self, log_threshold: float) -> int:
        """Return the number of visits beyond the minimums that gain at least exp(log_threshold)."""
        return int((self._counts(log_threshold) - self.least).sum())

    def sampled(self, step: int) -> "VisitColumns":
        """Return each `step`-th object."""
        rows = np.arange(0, len(self), step)
        return VisitColumns(self.gains.subset(rows), self.least[rows], self.most[rows])

    def room(self, more: float, less: float) -> int:
        """Return the number of visits between two thresholds, given by their ln."""
        return int(self._room(more, less).sum())

    def between(self, more: float, less: float) -> tuple[FloatArray, IntArray]:
        """Return the gains of the visits between two thresholds: each once, ascending, and the number of its visits."""
        gained, numbers = np.unique(self._gained(more, less)[1], return_counts=True)
        return gained, numbers.astype(np.int64)

    def visits(self, share: VisitShare) -> IntArray:
        """(n,) the visits to each object."""
        counts, room = self._counts(share.less), self._room(share.more, share.less)
        if math.isinf(share.last):
            made: IntArray = np.clip(share.equal - (np.cumsum(room) - room), 0, room)
            return counts + made
        objects, gained = self._gained(share.more, share.less)
        wins = gained > share.last
        wins[np.flatnonzero(gained == share.last)[:share.equal]] = True
        won: IntArray = np.bincount(objects[wins], minlength=len(self)).astype(np.int64)
        return counts + won

    def _gained(self, more: float, less: float) -> tuple[IntArray, FloatArray]:
        """(m,) the object and the gain of each visit between two thresholds, ordered by object."""
        counts, room = self._counts(less), self._room(more, less)
        some = np.flatnonzero(room)
        objects = np.repeat(some, room[some])
        earlier = np.arange(len(objects)) - np.repeat(np.cumsum(room[some]) - room[some], room[some])
        return objects, self.gains.of(objects, counts[objects] + earlier)

    def _room(self, more: float, less: float) -> IntArray:
        room: IntArray = np.maximum(self._counts(more) - self._counts(less), 0)
        return room

    def _counts(self, log_threshold: float) -> IntArray:
        found = self._kept.get(log_threshold)
        if found is None:
            found = np.maximum(self.gains.count(math.exp(log_threshold), self.most), self.least)
            if self.keeps:
                self._kept[log_threshold] = found
                if len(self._kept) > KEPT:
                    del self._kept[next(iter(self._kept))]
        return found
