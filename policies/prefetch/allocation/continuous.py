"""Continuous allocations: a budget of contacts per period, divided among objects in real numbers.

Each function takes `rates` (n,), updates per period, and `weights` (n,), both finite and >= 0, and a `budget` > 0 of
contacts per period. It returns the refreshes per period f, (n,) float64, with the sum `budget`. An object with rate or
weight 0 gets no refresh. Invalid values raise a `checked.RowError`.

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
    """The same number of refreshes for all objects."""
    return _in_proportion(lambda some_rates, _: np.ones_like(some_rates), rates, weights, budget)


def proportional(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """f ~ lambda: the same r = lambda / f for all objects. Weights do not matter, unless they are 0."""
    return _in_proportion(lambda some_rates, _: some_rates, rates, weights, budget)


def freshness(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """The refreshes with the greatest weighted mean freshness; objects that change too often get none."""
    return freshest(*checked(rates, weights), checked_budget(budget))


def age(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """The refreshes with the least weighted mean age."""
    return youngest(*checked(rates, weights), checked_budget(budget))


def delay(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
    """f ~ sqrt(w lambda), the refreshes with the least weighted total delay of postings."""
    return _in_proportion(
        lambda some_rates, some_weights: np.sqrt(some_rates) * np.sqrt(some_weights), rates, weights, budget
    )


def _in_proportion(
    share: Callable[[FloatArray, FloatArray], FloatArray], rates: ArrayLike, weights: ArrayLike | None, budget: float
) -> FloatArray:
    """Divide the budget in proportion to the shares; an object with rate or weight 0 gets none."""
    checked_rates, checked_weights = checked(rates, weights)
    total = checked_budget(budget)
    refreshes = np.zeros(len(checked_rates))
    for part in chunks(len(refreshes)):
        live = (checked_rates[part] > 0.0) & (checked_weights[part] > 0.0)
        np.multiply(share(checked_rates[part], checked_weights[part]), live, out=refreshes[part])
    if len(refreshes) and refreshes.max() > 0.0:
        refreshes /= refreshes.max()  # so that the sum does not overflow
        refreshes *= total / float(refreshes.sum())
    return refreshes
