"""Continuous allocation within bounds: m_i <= f_i <= M_i.

The refreshes of every object increase with the budget. So the allocation is computed for another budget, chosen so that
the refreshes, clipped to their bounds, add up to the given budget. If the allocation is optimal, the result is optimal
within the bounds: all objects between their bounds share one multiplier, an object at its lower bound would gain less
than that by one more refresh, an object at its upper bound more (the Karush-Kuhn-Tucker conditions).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.allocation.root import falling_root
from bestbefore.policies.prefetch.checked import RowError, checked, checked_budget, checked_numbers
from bestbefore.policies.prefetch.table import Allocate
from bestbefore.policies.units import FloatArray

TOLERANCE = 1e-12
"""The relative error of the sum of refreshes."""
SPAN = 1e15
"""The budgets tried lie within this factor of the given budget; beyond it nothing changes within the tolerance."""


def within_bounds(
    allocate: Allocate, rates: ArrayLike, weights: ArrayLike | None, budget: float, minimum: ArrayLike,
    maximum: ArrayLike,
) -> FloatArray:
    """(n,) refreshes per period, m_i <= f_i <= M_i; minimum and maximum are (n,), a maximum may be infinite.

    An object with rate or weight 0 gets its minimum. If all others get their maximum, part of the budget is left.

    Raises what `allocate` raises, a `RowError` for a bound that is negative or not a number and a minimum above its
    maximum, and a ValueError for a budget of less than the sum of the minimums.
    """
    checked_rates, checked_weights = checked(rates, weights)
    total = checked_budget(budget)
    least, most = checked_numbers(minimum, "the minimum"), np.asarray(maximum, dtype=np.float64)
    if not len(checked_rates) == len(least) == len(most):
        raise ValueError(f"{len(checked_rates)} rates, {len(least)} minimums, {len(most)} maximums, expected as many")
    wrong = ~(least <= most)
    if wrong.any():
        row = int(wrong.argmax())
        raise RowError(row, f"the minimum is {least[row]:g} and the maximum {most[row]:g}, expected no more")
    needed = float(least.sum())
    if needed > total * (1.0 + TOLERANCE):
        raise ValueError(f"the budget is {total:g}, but the minimums add up to {needed:g}")
    reach = np.where((checked_rates > 0.0) & (checked_weights > 0.0), most, least)
    if float(reach.sum()) <= total:
        return reach
    if needed >= total:
        return least.copy()
    refreshes = np.empty(len(least))

    def shortfall(log_budget: float) -> float:
        given = max(math.exp(log_budget), total / SPAN)
        np.clip(allocate(checked_rates, checked_weights, given), least, reach, out=refreshes)
        return total - float(refreshes.sum())

    falling_root(shortfall, math.log(total), -total, TOLERANCE * total, math.log(total * SPAN))
    # Scale away the error of the allocation itself, some 1e-9 of the budget.
    free = (refreshes > least) & (refreshes < reach)
    if (given := float(refreshes[free].sum())) > 0.0:
        refreshes[free] *= 1.0 + (total - float(refreshes.sum())) / given
        np.clip(refreshes, least, reach, out=refreshes)
    return refreshes
