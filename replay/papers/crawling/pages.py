"""The pages of section 5: Zipf-like update rates, and three kinds of updates mixed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.renewal.laws import pareto_stale_time
from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.gains import PoissonGains, TabulatedGains
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.crawling.quasideterministic import MOST_POTENTIAL, quasideterministic_staleness
from bestbefore.replay.papers.crawling.tables import Part, best_visits_of_tables

PAGES = 1_000_000
MEAN_RATE = 1.5
"""The mean number of updates of a page per day."""
SHAPE = 1.5
"""The shape of the Pareto laws of Figures 7 and 8, assumed: the paper found 0 < a < 2, and equation 3 needs a > 1."""


class Kind(StrEnum):
    """The kind of updates of a page."""

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


@dataclass(frozen=True, eq=False)
class Pages:
    """Pages in a period of one day, at whose beginning all copies are current (`interval`, equation 14)."""

    rates: FloatArray
    objects: Mapping[Kind, NDArray[np.intp]]
    """The pages of each kind, ascending."""
    shape: float

    @classmethod
    def of(cls, rates: FloatArray, mixture: Mixture, rng: np.random.Generator, shape: float = SHAPE) -> Self:
        """Make pages, with kinds assigned at random."""
        drawn = rng.permutation(len(rates))
        ends = np.rint(np.cumsum(list(mixture.values())) * len(rates)).astype(np.intp)
        parts = np.split(drawn, ends[:-1])
        return cls(rates, {kind: np.sort(part) for kind, part in zip(mixture, parts, strict=True)}, shape)

    def __len__(self) -> int:
        return len(self.rates)

    def best(self, weights: FloatArray, budget: int) -> IntArray:
        """Return the visits a day with the least sum of weight x staleness."""
        none = np.empty(0, np.intp)
        others: list[Part] = []
        if (pages := self.objects.get(Kind.POISSON, none)).size:
            others.append((pages, PoissonGains(self.rates[pages], weights[pages], "interval")))
        if (pages := self.objects.get(Kind.QUASI_DETERMINISTIC, none)).size:
            others.append((pages, TabulatedGains.of_table(self._quasideterministic, weights[pages])))
        pareto = self.objects.get(Kind.PARETO, none)
        return best_visits_of_tables(pareto, self._pareto_staleness, weights, budget, others)

    def staleness(self, visits: IntArray) -> FloatArray:
        """(n,) the expected share of the day for which each page's copy is stale, with visits at the best times."""
        stale = np.empty(len(self))
        for kind, objects in self.objects.items():
            intervals = visits[objects].astype(np.float64) + 1.0
            if kind is Kind.POISSON:
                stale[objects] = 1.0 - objectives.freshness(self.rates[objects], intervals)
            elif kind is Kind.PARETO:
                stale[objects] = pareto_staleness(self.shape, self._scales(objects), intervals)
            else:
                often = np.minimum(visits[objects], MOST_POTENTIAL)
                stale[objects] = self._quasideterministic[np.arange(len(objects)), often]
        return stale

    @cached_property
    def _quasideterministic(self) -> FloatArray:
        """A(0), A(1), ... of each quasi-deterministic page."""
        return quasideterministic_staleness(self.rates[self.objects[Kind.QUASI_DETERMINISTIC]])

    def _pareto_staleness(self, objects: NDArray[np.intp], intervals: FloatArray) -> FloatArray:
        return pareto_staleness(self.shape, self._scales(objects)[:, None], intervals)

    def _scales(self, objects: NDArray[np.intp]) -> FloatArray:
        """Return the scales with which the mean time between updates is 1 / rate."""
        return (self.shape - 1.0) / self.rates[objects]


def pareto_staleness(shape: float, scales: FloatArray, intervals: FloatArray) -> FloatArray:
    """A of equation 3 with this number of intervals in the day."""
    return pareto_stale_time(shape, scales, 1.0 / intervals) * intervals
