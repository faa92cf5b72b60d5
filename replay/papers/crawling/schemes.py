"""The allocation schemes that section 5 compares, and their mean staleness."""

from collections.abc import Callable, Sequence

import numpy as np

from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.crawling.pages import Pages

Scheme = Callable[[Pages, FloatArray, int], IntArray]
"""(pages, weights, budget) -> visits a day, which add up to the budget."""


def optimal(pages: Pages, _: FloatArray, budget: int) -> IntArray:
    """Return the best visits for equal weights."""
    return pages.best(np.ones(len(pages)), budget)


def proportional(pages: Pages, _: FloatArray, budget: int) -> IntArray:
    """Return visits in proportion to the rates, x ~ lambda."""
    return in_proportion(pages.rates, budget)


def uniform(pages: Pages, _: FloatArray, budget: int) -> IntArray:
    """Return equal visits x, up to one more for some pages."""
    return in_proportion(np.ones(len(pages)), budget)


def weighted_optimal(pages: Pages, weights: FloatArray, budget: int) -> IntArray:
    """Return the best visits for weights."""
    return pages.best(weights, budget)


def weighted_proportional(pages: Pages, weights: FloatArray, budget: int) -> IntArray:
    """Return visits in proportion to weight times rate, x ~ w lambda."""
    return in_proportion(weights * pages.rates, budget)


def weighted_uniform(_: Pages, weights: FloatArray, budget: int) -> IntArray:
    """Return visits in proportion to the weights, x ~ w."""
    return in_proportion(weights, budget)


UNWEIGHTED = {"optimal": optimal, "proportional": proportional, "uniform": uniform}
WEIGHTED = {
    "weighted optimal": weighted_optimal,
    "weighted proportional": weighted_proportional,
    "weighted uniform": weighted_uniform,
}


def in_proportion(shares: FloatArray, budget: int) -> IntArray:
    """Return whole numbers with the sum `budget`, by largest remainders; the first of equals."""
    exact = shares * (budget / shares.sum())
    visits = np.floor(exact).astype(np.int64)
    lost = np.argsort(visits - exact, kind="stable")
    visits[lost[:budget - int(visits.sum())]] += 1
    return visits


def mean_staleness(pages: Pages, weights: FloatArray, visits: IntArray) -> float:
    """sum(w A) / sum(w), equation 5 as a mean."""
    return float(weights @ pages.staleness(visits) / weights.sum())


def is_convex(xy: Sequence[tuple[float, float]]) -> bool:
    """Whether the curve through these points, ascending in x, is convex up to rounding."""
    x, y = np.array(xy).T
    slopes = np.diff(y) / np.diff(x)
    return bool(np.all(np.diff(slopes) >= -1e-12))


def in_words(held: Sequence[bool]) -> str:
    """Return in words how many of the statements hold.

    >>> in_words([True, False, True])
    '2 of 3'
    """
    return f"{sum(held)} of {len(held)}"
