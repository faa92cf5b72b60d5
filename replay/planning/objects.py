"""The objects that a plan is made for: columns, with a row for each object."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.renewal.laws import RenewalLaw
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.ids import Ids

Law = RenewalLaw | PotentialUpdates
"""How an object is updated; the unit of time is the period of the plan."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedObjects:
    """The columns of n objects."""

    ids: Ids
    rates: FloatArray
    """(n,) updates per period."""
    weights: FloatArray
    """(n,)"""
    minimum: FloatArray | None = None
    """(n,) the least number of contacts per period; None: 0 for all."""
    maximum: FloatArray | None = None
    """(n,) the largest, infinite where there is none; None: for none."""
    laws: Mapping[int, Law] = field(default_factory=dict)
    """By row, those that are not updated at random (as a Poisson process) with their rate."""
    misfit: FloatArray | None = None
    """(n,) how far the updates seen lie from the law, as Anderson and Darling's A^2 (NaN where too few were seen)."""
    hourly: NDArray[np.intp] | None = None
    """(n, 24) the updates seen in each UTC hour of the day; None if that is not known."""
    lines: NDArray[np.int32] | None = None
    """(n,) in which line of the file each object stands."""

    def __len__(self) -> int:
        return len(self.rates)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The minimum and the maximum of each."""
        n = len(self)
        least = np.zeros(n) if self.minimum is None else self.minimum
        return least, np.full(n, np.inf) if self.maximum is None else self.maximum
