"""The pages of section 5: Zipf-like update rates, and three kinds of updates mixed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import FloatArray
from bestbefore.policies.models.renewal.laws import pareto_stale_time
from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import Gains, MixedGains, PoissonGains, TabulatedGains
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates, least_staleness

PAGES = 20_000
"""The paper has a million."""
MEAN_RATE = 1.5
"""Updates a day, over all pages."""
SHAPE = 1.5
"""Of the Pareto laws of Figures 7 and 8. The paper names none; it found 0 < a < 2, and equation 3 needs a > 1."""
MOST_POTENTIAL = 48
"""Potential updates of a quasi-deterministic page in a day."""
FIRST_WIDTH = 64
"""So many visits are tabulated at first."""


class Kind(StrEnum):
    """How a page is updated."""

    POISSON = "Poisson"
    PARETO = "Pareto"
    QUASI_DETERMINISTIC = "quasi-deterministic"


Mixture = Mapping[Kind, float]
"""The share of the pages of each kind."""
MIXED: Mixture = {Kind.POISSON: 0.6, Kind.PARETO: 0.3, Kind.QUASI_DETERMINISTIC: 0.1}


def zipf_rates(pages: int, parameter: float) -> FloatArray:
    """(pages,) updates a day in proportion to 1 / rank^(1 - parameter), 1.5 on average: 0 is Zipf's law, 1 uniform."""
    shares = np.arange(1.0, pages + 1.0) ** (parameter - 1.0)
    return shares * (MEAN_RATE * pages / shares.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """Pages in a period of one day, at whose beginning all copies are current (`interval`, equation 14)."""

    rates: FloatArray
    objects: Mapping[Kind, NDArray[np.intp]]
    """The pages of each kind, ascending."""
    shape: float
    _tables: dict[tuple[Kind, int], FloatArray] = field(default_factory=dict)

    @classmethod
    def of(cls, rates: FloatArray, mixture: Mixture, rng: np.random.Generator, shape: float = SHAPE) -> Self:
        """Which page is of which kind is drawn."""
        drawn = rng.permutation(len(rates))
        ends = np.rint(np.cumsum(list(mixture.values())) * len(rates)).astype(np.intp)
        parts = np.split(drawn, ends[:-1])
        return cls(rates, {kind: np.sort(part) for kind, part in zip(mixture, parts, strict=True)}, shape)

    def __len__(self) -> int:
        return len(self.rates)

    def best(self, weights: FloatArray, budget: int) -> IntArray:
        """The visits a day with the least sum of weight x staleness."""
        width = FIRST_WIDTH
        while True:
            visits = best_visits(self._gains(weights, width), budget)
            pareto = visits[self.objects.get(Kind.PARETO, np.empty(0, np.intp))]
            if not len(pareto) or pareto.max() < width:
                return visits
            width *= 4

    def staleness(self, visits: IntArray) -> FloatArray:
        """(n,) the share of the day for which each page's copy is expected to be stale, visited at the best times."""
        stale = np.empty(len(self))
        for kind, objects in self.objects.items():
            intervals = visits[objects].astype(np.float64) + 1.0
            if kind is Kind.POISSON:
                stale[objects] = 1.0 - objectives.freshness(self.rates[objects], intervals)
            elif kind is Kind.PARETO:
                stale[objects] = pareto_staleness(self.shape, self._scales(objects), intervals)
            else:
                table = self._table(kind, 0)
                stale[objects] = table[np.arange(len(objects)), np.minimum(visits[objects], MOST_POTENTIAL)]
        return stale

    def _gains(self, weights: FloatArray, width: int) -> Gains:
        parts: list[tuple[IntArray, Gains]] = []
        for kind, objects in self.objects.items():
            own = weights[objects]
            if kind is Kind.POISSON:
                parts.append((objects, PoissonGains(self.rates[objects], own, "interval")))
            else:
                parts.append((objects, TabulatedGains.of_table(self._table(kind, width), own)))
        return MixedGains(parts)

    def _table(self, kind: Kind, width: int) -> FloatArray:
        """A(0) ... A(width) of each page of the kind; quasi-deterministic ones have a width of their own."""
        if (kind, width) not in self._tables:
            objects = self.objects[kind]
            if kind is Kind.PARETO:
                intervals = np.arange(1.0, width + 2.0)
                table = pareto_staleness(self.shape, self._scales(objects)[:, None], intervals)
            elif (kind, 0) in self._tables:
                table = self._tables[kind, 0]
            else:
                table = np.array([quasideterministic_staleness(rate) for rate in self.rates[objects].tolist()])
            self._tables[kind, width] = table
        return self._tables[kind, width]

    def _scales(self, objects: NDArray[np.intp]) -> FloatArray:
        """With which the mean time between updates is 1 / rate."""
        return (self.shape - 1.0) / self.rates[objects]


def pareto_staleness(shape: float, scales: FloatArray, intervals: FloatArray) -> FloatArray:
    """A of equation 3 with the day cut into so many intervals."""
    return pareto_stale_time(shape, scales, 1.0 / intervals) * intervals


def quasideterministic_staleness(rate: float) -> FloatArray:
    """(MOST_POTENTIAL + 1,) A(0), A(1), ... at the best potential updates; 0 from as many visits on as there are.

    Q = ceil(2 rate) potential updates, at most 48, at equal distances, are each an update with probability rate / Q, or
    always if that is more than 1.
    """
    potential = min(max(int(np.ceil(2.0 * rate)), 1), MOST_POTENTIAL)
    times = (np.arange(potential) + 0.5) / potential
    probability = min(rate / potential, 1.0)
    table = np.zeros(MOST_POTENTIAL + 1)
    updates = PotentialUpdates.of(times, np.full(potential, probability), 1.0)
    table[:potential + 1] = least_staleness(updates, "interval")
    return table
