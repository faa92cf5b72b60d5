"""The objects of a plan, as columns with a row for each object."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.renewal.laws import RenewalLaw
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.owners import Owners

Law = RenewalLaw | PotentialUpdates
"""The law of an object's updates; the unit of time is the period of the plan."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedObjects:
    """The columns of n objects."""

    ids: Ids
    rates: FloatArray
    """(n,) updates per period."""
    weights: FloatArray
    """(n,) 0 or more."""
    minimum: FloatArray | None = None
    """(n,) the least number of contacts per period; None: 0 for all."""
    maximum: FloatArray | None = None
    """(n,) the largest number of contacts per period, or infinity; None: infinite for all."""
    laws: Mapping[int, Law] = field(default_factory=dict)
    """The laws by row, of objects that are not updated by a Poisson process."""
    misfit: FloatArray | None = None
    """(n,) the Anderson-Darling A^2 of the observed intervals and the law; NaN with too few intervals."""
    hourly: NDArray[np.intp] | None = None
    """(n, 24) the updates observed in each hour of the UTC day; None if unknown."""
    lines: NDArray[np.int32] | None = None
    """(n,) the line number of each object in its file."""
    requests: FloatArray | None = None
    """(n,) how often each object was requested, by which its weight was multiplied; None: it was not."""
    since: FloatArray | None = None
    """(n,) the time from the last contact to the start of the plan, in periods, if this is the rest of another plan."""
    owners: Owners | None = None
    """The owners, who may get a number of contacts at most; None: any number."""

    def __len__(self) -> int:
        return len(self.rates)

    def weighted_by(self, requests: Mapping[str, int]) -> Self:
        """Return the objects with their weights multiplied by their numbers of requests, by name.

        So a weight is the rate of requests that an outdated copy embarrasses (Wolf et al., "Optimal crawling strategies
        for web search engines", equation 8): a request is a click on the object, and the weight given in its file the
        probability that an outdated copy answers it wrongly. Raises ValueError if none of the objects was requested.
        """
        numbers = np.zeros(len(self))
        for rows, names in self.ids.parts():
            numbers[rows] = [requests.get(name, 0) for name in names]
        if not numbers.any():
            raise ValueError("none of the objects was requested, expected requests for the same names")
        return replace(self, weights=self.weights * numbers, requests=numbers)

    def contacted_within(self, longest: float, boundary: Boundary, *, discrete: bool) -> Self:
        """Return the objects with minimums such that at most `longest` periods lie between two contacts.

        Objects that never change have no delay to bound, and hours of the day no say, as contacts at them are not
        evenly spaced. Raises a `RowError` for an object that is contacted at its potential updates.
        """
        for row, law in self.laws.items():
            if isinstance(law, PotentialUpdates):
                raise RowError(row, "the model quasi-deterministic has contacts at its moments, not at a longest delay")
        needed = 1.0 / longest
        if discrete:
            needed = math.ceil(needed * (1.0 - 1e-12)) - (1.0 if boundary == "interval" else 0.0)
        least, _ = self.bounds()
        return replace(self, minimum=np.where(self.rates > 0.0, np.maximum(least, needed), least), hourly=None)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the minimum and the maximum of each object, both (n,)."""
        n = len(self)
        least = np.zeros(n) if self.minimum is None else self.minimum
        return least, np.full(n, np.inf) if self.maximum is None else self.maximum
