"""The table of laws of page change rates by name. A new law is a function, a line here and a test.

The paper gives one number, a mean change interval of 75 days over the pages that are tracked. A repository in which
all pages change at that rate does not give its freshness at 100 and at 1000 subscribers, so rates must be spread.
"""

from collections.abc import Callable, Mapping

import numpy as np

from bestbefore.policies.units import FloatArray

PRINTED_MEAN_DAYS = 75.0

Law = Callable[[np.random.Generator, int], FloatArray]
"""Draws the mean change interval of each of n pages, days (n,)."""


def spread(rng: np.random.Generator, pages: int) -> FloatArray:
    """1 day and an exponential law of mean 107 days: no page changes more than daily on average. Fitted."""
    return 1.0 + rng.exponential(107.0, pages)


def two_kinds(rng: np.random.Generator, pages: int) -> FloatArray:
    """A tenth of the pages at 2 days, the others at 83 days. Fitted."""
    return np.where(rng.random(pages) < 0.1, 2.0, 83.0)


def fixed(_rng: np.random.Generator, pages: int) -> FloatArray:
    """75 days for every page."""
    return np.full(pages, PRINTED_MEAN_DAYS)


def uniform(rng: np.random.Generator, pages: int) -> FloatArray:
    """Uniform between 1 and 149 days, whose mean is 75."""
    return rng.uniform(1.0, 2.0 * PRINTED_MEAN_DAYS - 1.0, pages)


LAWS: Mapping[str, Law] = {"A": spread, "B": two_kinds, "fixed": fixed, "uniform": uniform}
