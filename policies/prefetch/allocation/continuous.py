"""Refresh rates in real numbers: a budget of contacts per period, divided among objects.

Each function takes (rates, weights, budget) - updates per period and importance, (n,), finite and >= 0, and contacts
per period, > 0 - and gives the refreshes per period f, (n,) float64, that add up to the budget. An object that never
changes (lambda = 0) or has no weight gets nothing, and where all are such, none does. Bad values raise a ValueError
that names the row (`checked.RowError`).

Sources: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", sections 3, 5.3 and 6 (uniform,
proportional, freshness, age); Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", theorem 1 (delay).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.allocation.cubics import chunks
from bestbefore.policies.prefetch.allocation.optimum import freshest, youngest
from bestbefore.policies.prefetch.checked import checked, checked_budget
from bestbefore.policies.units import FloatArray


def uniform(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """The same for all objects."""
    return _in_proportion(lambda some_rates, _: np.ones_like(some_rates), rates, weights, budget)


def proportional(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """f ~ lambda: the same r = lambda / f for all objects. Weights do not matter, unless they are 0."""
    return _in_proportion(lambda some_rates, _: some_rates, rates, weights, budget)


def freshness(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """The refreshes at which the weighted mean freshness is greatest; objects that change too often are given up."""
    return freshest(*checked(rates, weights), checked_budget(budget))


def age(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """The refreshes at which the weighted mean age is least."""
    return youngest(*checked(rates, weights), checked_budget(budget))


def delay(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """f ~ sqrt(w lambda), at which the weighted total delay of postings is least."""
    return _in_proportion(
        lambda some_rates, some_weights: np.sqrt(some_rates) * np.sqrt(some_weights), rates, weights, budget
    )


def _in_proportion(
    share: Callable[[FloatArray, FloatArray], FloatArray], rates: ArrayLike, weights: ArrayLike | None, budget: float
) -> FloatArray:
    """The budget in the proportion of the shares; an object without rate or weight has none."""
    checked_rates, checked_weights = checked(rates, weights)
    total = checked_budget(budget)
    refreshes = np.zeros(len(checked_rates))
    for part in chunks(len(refreshes)):
        live = (checked_rates[part] > 0.0) & (checked_weights[part] > 0.0)
        np.multiply(share(checked_rates[part], checked_weights[part]), live, out=refreshes[part])
    if len(refreshes) and refreshes.max() > 0.0:
        refreshes /= refreshes.max()  # first, lest the sum overflow
        refreshes *= total / float(refreshes.sum())
    return refreshes
