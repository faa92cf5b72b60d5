"""Whole numbers of visits where the objects of one owner, such as a domain, get at most a number of visits together.

The greedy algorithm, which adds one visit at a time where it gains most, stays exact: an owner with all that it may
have is passed over. So of the visits to its objects only those are ever made that it would make alone. With these as
maximums of its objects a budget is divided as without owners; but what an owner may not have goes to others, and so
more of them may come to their most: divisions are made until none is above it.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.allocation.owned import rows_of_owners
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import Gains

OwnerIds = NDArray[np.intp]
"""Owners by number."""


class Visit(Protocol):
    """The best visits to some of n objects."""

    def __call__(self, rows: IntArray, budget: int, least: IntArray, most: IntArray) -> IntArray:
        """(m,) the visits that add up to the budget, with the bounds, (m,) each, of the objects in these rows, (m,)."""


def visit_by(gains: Gains) -> Visit:
    """Return the function that makes the best visits to some of these objects, by their gains."""
    def visit(rows: IntArray, budget: int, least: IntArray, most: IntArray) -> IntArray:
        return best_visits(gains if len(rows) == len(gains) else gains.subset(rows), budget, least, most)

    return visit


def visits_within(
    visit: Visit, budget: int, least: IntArray, most: IntArray, owners: OwnerIds, of_owner: int
) -> IntArray:
    """(n,) the best visits to all objects whose owners, (n,), get at most `of_owner` > 0 visits each.

    Raises ValueError for least visits, (n,), of an owner that add up to more.
    """
    refuse_needy_owner(int(largest_of_owner(least, owners)), of_owner)
    every, lowered = np.arange(len(least)), most
    while True:
        visits = visit(every, budget, least, lowered)
        above = owners_above(visits, owners, of_owner)
        if not above.size:
            return visits
        lowered = lowered_most(visit, least, lowered, owners, above, of_owner)


def lowered_most(
    visit: Visit, least: IntArray, most: IntArray, owners: OwnerIds, which: OwnerIds, of_owner: int
) -> IntArray:
    """(n,) the most visits to each object, lowered to what each owner in `which` would make alone."""
    lowered = most.copy()
    for rows in rows_of_owners(owners, np.isin(np.arange(owners.max() + 1), which)):
        own = least[rows]
        lowered[rows] = visit(rows, of_owner, own, np.minimum(most[rows], own + (of_owner - own.sum())))
    return lowered


def owners_above(visits: IntArray, owners: OwnerIds, of_owner: int) -> OwnerIds:
    """Return the owners of objects who have more visits than they may have."""
    return np.flatnonzero(np.bincount(owners, weights=visits) > of_owner)


def largest_of_owner(visits: IntArray, owners: OwnerIds) -> float:
    """Return the most visits that the objects of one owner have together."""
    return float(np.bincount(owners, weights=visits).max(initial=0.0))


def refuse_needy_owner(largest: int, of_owner: int) -> None:
    """Raise ValueError if the least visits of an owner, `largest` together, are more than it may have."""
    if largest > of_owner:
        raise ValueError(
            f"the least numbers of visits of one domain add up to {largest}, but it may have {of_owner} at most"
        )
