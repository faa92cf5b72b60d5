"""Crawls to slots where single crawls are kept from single slots: the general assignment problem, for small numbers.

Source: `crawling` section 3, last paragraph (restricted arcs have an infinite cost). Solved exactly by
`scipy.optimize.linear_sum_assignment` (a shortest augmenting path algorithm), which needs the n x M matrix of costs:
about a second for 4000 crawls and as many slots, and eight times as long for twice as many. Where all crawls may use
the same slots, `assignment.assign` is exact for any number.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.slots.assignment import Assignment, Slots, checked_crawls
from bestbefore.policies.units import FloatArray

MAX_COSTS = 100_000_000
"""The largest n x M that is taken: 800 MB."""


def assign_restricted(
    slots: Slots, ideal_s: FloatArray, released: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> Assignment:
    """Assign crawls as `assignment.assign` does, with `allowed` (n, M): whether a crawl may use a slot.

    Raises ValueError for what `assignment.assign` refuses, for too large a problem, and where not all crawls can be
    placed.
    """
    checked_crawls(slots, ideal_s, released)
    n, m = ideal_s.size, slots.start_s.size
    if allowed.shape != (n, m):
        raise ValueError(f"{allowed.shape} permissions for {n} crawls and {m} slots")
    if n * m > MAX_COSTS:
        raise ValueError(f"{n} crawls and {m} slots: with restrictions at most {MAX_COSTS} pairs can be weighed")
    late = slots.start_s - ideal_s[:, None]
    cost = np.where(allowed & ~(released[:, None] & (late < 0.0)), np.abs(late), np.inf)
    for row in np.flatnonzero(~np.any(np.isfinite(cost), axis=1))[:1]:
        raise RowError(int(row), "the crawl may use none of the slots")
    try:
        _, slot = linear_sum_assignment(cost)
    except ValueError:
        raise ValueError("no assignment gives each crawl a slot that it may use") from None
    return Assignment.of(slots, slot)
