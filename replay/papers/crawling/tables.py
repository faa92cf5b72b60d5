"""The best visits to pages whose staleness is tabulated only up to the visits needed."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import Gains, MixedGains, TabulatedGains
from bestbefore.policies.units import FloatArray

FIRST_WIDTH = 8
"""So many visits are tabulated at first; four times as many for pages that are visited so often."""

Staleness = Callable[[NDArray[np.intp], FloatArray], FloatArray]
"""(some of the pages, intervals in the day) -> A, (pages, intervals)."""
Part = tuple[NDArray[np.intp], Gains]
"""Pages and what visits to them gain."""


def best_visits_of_tables(
    pages: NDArray[np.intp], staleness: Staleness, weights: FloatArray, budget: int, others: Sequence[Part] = ()
) -> IntArray:
    """The visits to all pages with the least sum of weight x staleness.

    `pages` are those that are tabulated, ascending, and `others` all the rest; `weights` are those of all. What no page
    uses up of its table cannot change the answer.
    """
    widths = np.full(len(pages), FIRST_WIDTH)
    while True:
        parts = list(others)
        for width in np.unique(widths).tolist():
            some = pages[widths == width]
            table = staleness(some, np.arange(1.0, width + 2.0))
            parts.append((some, TabulatedGains.of_table(table, weights[some])))
        visits = best_visits(MixedGains(parts), budget)
        used_up = visits[pages] >= widths
        if not used_up.any():
            return visits
        widths[used_up] *= 4
