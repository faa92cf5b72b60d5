"""Continuous allocation where the objects of one owner, such as a domain, get at most a number of refreshes together.

All owners below that number share one multiplier; an owner at it divides the number among its own objects, with a
higher multiplier of its own (the Karush-Kuhn-Tucker conditions). As the refreshes of every object increase with the
budget, the common multiplier is that of another budget, at which what each owner may get adds up to the given budget.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.allocation.bounded import SPAN, TOLERANCE, clipped, is_free, within_bounds
from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.continuous import Allocation
from bestbefore.policies.prefetch.allocation.parts import Divide, Division, ObjectParts
from bestbefore.policies.prefetch.allocation.root import falling_root
from bestbefore.policies.units import FloatArray


class OwnedDivisions:
    """The divisions among objects in parts, within their bounds and those of their owners, who have `owners`.

    All objects of an owner are in one part.
    """

    def __init__(self, allocation: Allocation, parts: ObjectParts[PartColumns], most: float) -> None:
        """`most` > 0 is the most refreshes per period of the objects of one owner.

        Raises ValueError for minimums of an owner that add up to more.
        """
        self._allocation, self._parts, self._most = allocation, parts, most
        self._divide: Divide = allocation.over(parts)
        sums = parts.ask(partial(_sums_of_bounds, most))
        self._needed = sum(needed for needed, _, _ in sums)
        self._reach = sum(reach for _, reach, _ in sums)
        if (largest := max(of_one for _, _, of_one in sums)) > most * (1.0 + TOLERANCE):
            raise ValueError(
                f"the minimums of one domain add up to {largest:g} contacts, but it may have {most:g} at most"
            )

    def __call__(self, total: float) -> Division:
        """Divide a budget > 0, or as much of it as owners may have.

        Raises ValueError for a budget of less than the sum of the minimums.
        """
        if self._needed > total * (1.0 + TOLERANCE):
            raise ValueError(f"the budget is {total:g}, but the minimums add up to {self._needed:g}")
        if self._reach <= total:
            return partial(_limited, self._allocation, self._most, _unlimited, 1.0)
        if self._needed >= total:
            return partial(_limited, self._allocation, self._most, _nothing, 1.0)
        division = self._divide(total)

        def shortfall(log_budget: float) -> float:
            nonlocal division
            division = self._divide(max(math.exp(log_budget), total / SPAN))
            return total - sum(self._parts.ask(partial(_sum_of_limited, self._most, division)))

        root = falling_root(shortfall, math.log(total), -total, TOLERANCE * total, math.log(total * SPAN))
        # Scale away the error of the allocation itself, some 1e-9 of the budget.
        unbound = sum(self._parts.ask(partial(_sum_of_free, self._most, division)))
        factor = 1.0 + root.high_value / unbound if unbound > 0.0 else 1.0
        return partial(_limited, self._allocation, self._most, division, factor)


def _unlimited(columns: PartColumns) -> FloatArray:
    return np.full(len(columns), np.inf)


def _nothing(columns: PartColumns) -> FloatArray:
    return np.zeros(len(columns))


def owners_of_all(columns: PartColumns) -> NDArray[np.intp]:
    """(n,) the owners of objects, by number. Raises ValueError if they are not known."""
    if columns.owners is None:
        raise ValueError("expected the owners of all objects")
    return columns.owners


def _of_owners(columns: PartColumns, values: FloatArray) -> FloatArray:
    """The sum over the objects of each owner, by number."""
    sums: FloatArray = np.bincount(owners_of_all(columns), weights=values)
    return sums


def _sums_of_bounds(most: float, columns: PartColumns) -> tuple[float, float, float]:
    """The sum of the minimums, of what owners can get at most, and the largest sum of minimums of one owner."""
    least, reach = columns.reach()
    of_each = _of_owners(columns, least)
    return (
        float(least.sum()), float(np.minimum(_of_owners(columns, reach), most).sum()), float(of_each.max(initial=0.0))
    )


def _sum_of_limited(most: float, division: Division, columns: PartColumns) -> float:
    return float(np.minimum(_of_owners(columns, clipped(division, columns)), most).sum())


def _sum_of_free(most: float, division: Division, columns: PartColumns) -> float:
    """The sum of the refreshes of all objects that are at no bound, their own or that of their owner."""
    refreshes = clipped(division, columns)
    below = _of_owners(columns, refreshes) < most
    return float(refreshes[is_free(refreshes, columns) & below[owners_of_all(columns)]].sum())


def _limited(
    allocation: Allocation, most: float, division: Division, factor: float, columns: PartColumns
) -> FloatArray:
    """The refreshes of a division, those of free objects times a factor, and those of owners above `most` divided."""
    owners = owners_of_all(columns)
    refreshes = clipped(division, columns)
    above = _of_owners(columns, refreshes) >= most
    if factor != 1.0:
        refreshes[is_free(refreshes, columns) & ~above[owners]] *= factor
        np.clip(refreshes, *columns.reach(), out=refreshes)
    least, reach = columns.reach()
    for rows in rows_of_owners(owners, above):
        refreshes[rows] = within_bounds(
            allocation, columns.rates[rows], columns.weights[rows], most, least[rows], reach[rows]
        )
    return refreshes


def rows_of_owners(owners: NDArray[np.intp], chosen: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of the objects of each chosen owner."""
    rows = np.flatnonzero(chosen[owners])
    rows = rows[np.argsort(owners[rows], kind="stable")]
    if len(rows):
        yield from np.split(rows, np.flatnonzero(np.diff(owners[rows])) + 1)
