"""The allocation schemes that section 5 compares, and their mean staleness."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.crawling.pages import Pages
from bestbefore.replay.planning.plan import rounded_to_whole

Scheme = Callable[[Pages, FloatArray, int], IntArray]
"""(pages, weights, budget) -> visits a day, which add up to the budget."""


def optimal(pages: Pages, weights: FloatArray, budget: int) -> IntArray:
    """Return the best visits."""
    return pages.best(weights, budget)


def proportional(pages: Pages, weights: FloatArray, budget: int) -> IntArray:
    """Return visits in proportion to weight times rate, x ~ w lambda."""
    return in_proportion(weights * pages.rates, budget)


def uniform(_: Pages, weights: FloatArray, budget: int) -> IntArray:
    """Return visits in proportion to the weights, x ~ w."""
    return in_proportion(weights, budget)


def unweighted(scheme: Scheme) -> Scheme:
    """Return the scheme with equal weights."""
    return lambda pages, weights, budget: scheme(pages, np.ones_like(weights), budget)


_SCHEMES: Mapping[str, Scheme] = {"optimal": optimal, "proportional": proportional, "uniform": uniform}
UNWEIGHTED = {name: unweighted(scheme) for name, scheme in _SCHEMES.items()}
WEIGHTED = {f"weighted {name}": scheme for name, scheme in _SCHEMES.items()}


def in_proportion(shares: FloatArray, budget: int) -> IntArray:
    """Return whole numbers with the sum `budget`, by largest remainders; the first of equals."""
    return rounded_to_whole(shares * (budget / shares.sum())).astype(np.int64)


def mean_staleness(pages: Pages, weights: FloatArray, visits: IntArray) -> float:
    """sum(w A) / sum(w), equation 5 as a mean."""
    return float(weights @ pages.staleness(visits) / weights.sum())


def is_convex(xy: Sequence[tuple[float, float]]) -> bool:
    """Whether the curve through these points, ascending in x, is convex up to rounding."""
    x, y = np.array(xy).T
    slopes = np.diff(y) / np.diff(x)
    return bool(np.all(np.diff(slopes) >= -1e-12))
