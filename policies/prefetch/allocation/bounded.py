"""Continuous allocation within bounds: m_i <= f_i <= M_i.

The refreshes of every object increase with the budget. So the allocation is computed for another budget, chosen so that
the refreshes, clipped to their bounds, add up to the given budget. If the allocation is optimal, the result is optimal
within the bounds: all objects between their bounds share one multiplier, an object at its lower bound would gain less
than that by one more refresh, an object at its upper bound more (the Karush-Kuhn-Tucker conditions).
"""

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.continuous import Allocation
from bestbefore.policies.prefetch.allocation.parts import Divide, Division, InMemory, ObjectParts
from bestbefore.policies.prefetch.allocation.root import falling_root
from bestbefore.policies.prefetch.checked import RowError, checked, checked_budget, checked_numbers
from bestbefore.policies.units import FloatArray

TOLERANCE = 1e-12
"""The relative error of the sum of refreshes."""
SPAN = 1e15
"""The budgets tried lie within this factor of the given budget; beyond it nothing changes within the tolerance."""


def within_bounds(
    allocation: Allocation, rates: ArrayLike, weights: ArrayLike | None, budget: float, minimum: ArrayLike,
    maximum: ArrayLike,
) -> FloatArray:
    """(n,) refreshes per period, m_i <= f_i <= M_i; minimum and maximum are (n,), a maximum may be infinite.

    An object with rate or weight 0 gets its minimum. If all others get their maximum, part of the budget is left.

    Raises what `allocation` raises, a `RowError` for a bound that is negative or not a number and a minimum above its
    maximum, and a ValueError for a budget of less than the sum of the minimums.
    """
    checked_rates, checked_weights = checked(rates, weights)
    total = checked_budget(budget)
    least, most = checked_numbers(minimum, "the minimum"), np.asarray(maximum, dtype=np.float64)
    if not len(checked_rates) == len(least) == len(most):
        raise ValueError(f"{len(checked_rates)} rates, {len(least)} minimums, {len(most)} maximums, expected as many")
    refuse_wrong_bounds(least, most)
    columns = PartColumns(checked_rates, checked_weights, least, most, keeps=True)
    return BoundedDivisions(allocation, InMemory((columns,)))(total)(columns)


def refuse_wrong_bounds(least: FloatArray, most: FloatArray) -> None:
    """Raise a `RowError` for the first minimum, in (n,), that is not at most its maximum."""
    wrong = ~(least <= most)
    if wrong.any():
        row = int(wrong.argmax())
        raise RowError(row, f"the minimum is {least[row]:g} and the maximum {most[row]:g}, expected no more")


class BoundedDivisions:
    """The divisions among objects in parts within their bounds."""

    def __init__(self, allocation: Allocation, parts: ObjectParts[PartColumns]) -> None:
        self._parts = parts
        self._divide: Divide = allocation.over(parts)
        sums = parts.ask(_sums_of_bounds)
        self._needed = sum(needed for needed, _ in sums)
        self._reach = sum(reach for _, reach in sums)

    def __call__(self, total: float) -> Division:
        """Divide a budget > 0. Raises ValueError for a budget of less than the sum of the minimums."""
        if self._needed > total * (1.0 + TOLERANCE):
            raise ValueError(f"the budget is {total:g}, but the minimums add up to {self._needed:g}")
        if self._reach <= total:
            return _all_reached
        if self._needed >= total:
            return _all_least
        division = self._divide(total)

        def shortfall(log_budget: float) -> float:
            nonlocal division
            division = self._divide(max(math.exp(log_budget), total / SPAN))
            return total - sum(self._parts.ask(partial(_sum_of_clipped, division)))

        root = falling_root(shortfall, math.log(total), -total, TOLERANCE * total, math.log(total * SPAN))
        # Scale away the error of the allocation itself, some 1e-9 of the budget.
        free = sum(self._parts.ask(partial(_sum_of_free, division)))
        return partial(_scaled, division, 1.0 + root.high_value / free if free > 0.0 else 1.0)


def _sums_of_bounds(columns: PartColumns) -> tuple[float, float]:
    """The sum of the minimums, and of what the objects can get at most."""
    least, reach = columns.reach()
    return float(least.sum()), float(reach.sum())


def _all_reached(columns: PartColumns) -> FloatArray:
    return columns.reach()[1].copy()


def _all_least(columns: PartColumns) -> FloatArray:
    return columns.reach()[0].copy()


def clipped(division: Division, columns: PartColumns) -> FloatArray:
    """Return the refreshes of a division within the bounds of each object, (n,), an array of the caller's own."""
    refreshes = division(columns)
    return np.clip(refreshes, *columns.reach(), out=refreshes)


def _sum_of_clipped(division: Division, columns: PartColumns) -> float:
    return float(clipped(division, columns).sum())


def is_free(refreshes: FloatArray, columns: PartColumns) -> NDArray[np.bool_]:
    """Return whether each object is at none of its bounds, (n,)."""
    least, reach = columns.reach()
    return (refreshes > least) & (refreshes < reach)


def _sum_of_free(division: Division, columns: PartColumns) -> float:
    refreshes = clipped(division, columns)
    return float(refreshes[is_free(refreshes, columns)].sum())


def _scaled(division: Division, factor: float, columns: PartColumns) -> FloatArray:
    refreshes = clipped(division, columns)
    refreshes[is_free(refreshes, columns)] *= factor
    return np.clip(refreshes, *columns.reach(), out=refreshes)
