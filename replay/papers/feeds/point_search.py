"""Retrieval points on a grid by the two methods of the paper, for comparison with the exact method.

Source: `feeds` section 3.2.2, equation 2: lambda(tau_j) (tau_(j+1) - tau_j) = Lambda(tau_(j-1), tau_j). The paper
assumes smooth intensities. If the rate drops at tau_j, every tau_(j+1) between the roots for the two rates is a sign
change; the search takes the nearest one (with the rate before the drop). The step of the second method is described in
an extended version of the paper, which was not available: here a point moves to the best grid point between its
neighbours.
"""

import numpy as np

from bestbefore.policies.prefetch.timing.points import Intensity, checked_grid, expected_delay, uniform_points
from bestbefore.policies.units import FloatArray, IntArray


def exhaustive_points(intensity: Intensity, retrievals: int, grid: FloatArray) -> FloatArray:
    """(m,) points of `grid` (ascending in [0, period), m or more) by exhaustive search over the first two points.

    Each pair of grid points is tried as tau_1 and tau_2; each further point is the grid point nearest to the root of
    equation 2, after the previous one. Plans that leave the period or have no root (rate 0) are dropped. If none is
    left, the points are evenly spaced on the grid.
    """
    points = checked_grid(intensity, retrievals, grid)
    if retrievals == 1:
        return points[[int(np.argmin(expected_delay(intensity, points[:, None])))]]
    first, second = np.triu_indices(points.size, k=1)
    plans = np.empty((first.size, retrievals), dtype=np.intp)
    plans[:, 0], plans[:, 1] = first, second
    mass = intensity.mass_to(points)
    rate_before, rate_after = intensity.rates_at(points)
    rate = np.maximum(rate_before, rate_after)
    for j in range(2, retrievals):
        last, previous = plans[:, j - 1], plans[:, j - 2]
        plans, last, previous = (kept[rate[last] > 0.0] for kept in (plans, last, previous))
        root = points[last] + (mass[last] - mass[previous]) / rate[last]
        plans[:, j] = np.maximum(_nearest(points, root), last + 1)
        plans = plans[(root < intensity.period_h) & (plans[:, j] < points.size)]
    if plans.shape[0] == 0:
        return _uniform_on(points, intensity.period_h, retrievals)
    best = plans[int(np.argmin(expected_delay(intensity, points[plans])))]
    return np.asarray(points[best])


def refined_points(intensity: Intensity, retrievals: int, grid: FloatArray) -> FloatArray:
    """(m,) points of `grid` (ascending in [0, period), m or more) by refinement from uniform spacing.

    Each point in turn moves to the grid point between its neighbours with the least delay, until none moves. The result
    is a local optimum, with at most the delay of the start.
    """
    points = checked_grid(intensity, retrievals, grid)
    plan = np.searchsorted(points, _uniform_on(points, intensity.period_h, retrievals))
    delay = float(expected_delay(intensity, points[plan]))
    improved = True
    while improved:
        improved = False
        for j in range(retrievals):
            plan, less = _moved(intensity, points, plan, j)
            improved |= less < delay
            delay = min(delay, less)
    return points[plan]


def _moved(intensity: Intensity, points: FloatArray, plan: IntArray, j: int) -> tuple[IntArray, float]:
    """Return the plan with its j-th point at the best place between its neighbours on the circle, and its delay."""
    before, after = plan[j - 1], plan[(j + 1) % plan.size]
    turn = (after - before) % points.size or points.size
    places = (before + np.arange(1, turn)) % points.size if plan.size > 1 else np.arange(points.size)
    plans = np.repeat(plan[None, :], places.size, axis=0)
    plans[:, j] = places
    plans.sort(axis=1)
    delays = expected_delay(intensity, points[plans])
    best = int(np.argmin(delays))
    # A point moves only for a smaller delay, so that equal delays cannot lead to an endless loop.
    if delays[best] < expected_delay(intensity, points[plan]):
        return plans[best], float(delays[best])
    return plan, float(expected_delay(intensity, points[plan]))


def _nearest(points: FloatArray, wanted: FloatArray) -> IntArray:
    """The index of the grid point nearest to each wanted time; beyond the last, the number of points."""
    k = np.searchsorted(points, wanted)
    left, right = points[np.maximum(k - 1, 0)], np.append(points, np.inf)[k]
    return np.asarray(np.where((k > 0) & (wanted - left <= right - wanted), k - 1, k), dtype=np.intp)


def _uniform_on(points: FloatArray, period_h: float, retrievals: int) -> FloatArray:
    """Return evenly spaced points, each moved to a distinct grid point at or after it."""
    wanted = np.searchsorted(points, uniform_points(period_h, retrievals))
    ranks = np.arange(retrievals)
    spread = np.maximum.accumulate(wanted - ranks) + ranks
    return points[np.minimum(spread, points.size - retrievals + ranks)]
