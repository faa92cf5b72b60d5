"""The changes of pages, Poisson processes drawn a day at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """The changes of some pages of a repository; iterating again gives the same ones."""

    pages: IntArray
    """(n,) the pages, ascending."""
    rates_per_day: FloatArray
    """(n,) their change rates."""
    seed: tuple[int, ...]

    def by_day(self, days: int) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield for each day the times of changes, s, ascending, and the pages that change."""
        rng = np.random.default_rng(self.seed)
        cumulative = np.cumsum(self.rates_per_day)
        total = float(cumulative[-1]) if len(cumulative) else 0.0
        for day in range(days):
            times_s = (day + np.sort(rng.random(rng.poisson(total)))) * DAY_S
            rows = np.searchsorted(cumulative, rng.uniform(0.0, total, len(times_s)), side="right")
            yield times_s, self.pages[np.minimum(rows, len(self.pages) - 1)]
