"""Retrieval points with the least expected delay: exact on a grid, then refined between the grid points.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts" (`feeds`), theorem 3, whose condition is
necessary but not sufficient. The expected delay is a sum over gaps (a, b) of w(a, b) = integral of lambda(t) (b - t),
which has the Monge property: w(a, b') + w(a', b) - w(a, b) - w(a', b') = (b' - b) * Lambda(a, a') >= 0. So
`circle_cuts` finds the optimum among the points of a grid, and `polished` descends from it between the grid points.
"""

from collections.abc import Callable

import numpy as np

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.timing.cuts import circle_cuts
from bestbefore.policies.prefetch.timing.points import (
    Intensity,
    checked_grid,
    delay_slopes,
    expected_delay,
    grid_h,
    uniform_points,
)
from bestbefore.policies.units import FloatArray, IntArray

MOST_EXACT = 200
"""The most retrievals solved exactly; above, the dynamic programme takes seconds and hundreds of megabytes."""
MAX_STEPS = 100
"""The most steps of `polished`; from an optimum on the grid it takes fewer than twenty."""
SLOPE_TOLERANCE = 1e-9
"""A slope of the delay below this share of the mass of the period counts as 0."""
RIDGE = 1e-9
"""The curvature added at each point, as a share of the highest rate, so that the system is regular."""
ON_EDGE = 1e-12
"""A point within this share of the period of an edge is moved onto the edge."""


def retrieval_points(intensity: Intensity, retrievals: int) -> FloatArray:
    """(m,) ascending hours in [0, period): the m = `retrievals` >= 1 points with the least expected delay.

    These are the optimum on `grid_h`, polished; for more than `MOST_EXACT` retrievals, `dense_points`. Where no
    postings are expected, every choice has delay 0, and the points are evenly spaced.
    """
    peak = float(np.max(intensity.rates_per_hour))
    if peak == 0.0:
        return uniform_points(intensity.period_h, retrievals)
    if retrievals > MOST_EXACT:
        return dense_points(intensity, retrievals)
    shape = Intensity(intensity.edges_h, intensity.rates_per_hour / peak)
    return polished(shape, points_on_grid(shape, retrievals, grid_h(shape, retrievals)))


def dense_points(intensity: Intensity, retrievals: int) -> FloatArray:
    """Return (m,) points with spacing ~ 1 / sqrt(lambda), which is optimal in the limit of many retrievals.

    This follows from the calculus of variations, for gaps in which lambda hardly changes. With hourly rates that vary
    much, the delay is 10 to 20 percent above the least at 100 retrievals a day, and some 5 percent above it at 300.
    """
    density = np.sqrt(intensity.rates_per_hour) * np.diff(intensity.edges_h)
    until_edge = np.concatenate(([0.0], np.cumsum(density)))
    wanted = (np.arange(retrievals) + 0.5) / retrievals * until_edge[-1]
    return np.asarray(np.interp(wanted, until_edge, intensity.edges_h))


def points_on_grid(intensity: Intensity, retrievals: int, grid: FloatArray) -> FloatArray:
    """(m,) the `retrievals` points of `grid` (ascending in [0, period), m or more) with the least expected delay."""
    points = checked_grid(intensity, retrievals, grid)
    period, total = intensity.period_h, intensity.mass[-1]
    moment_of_period = intensity.moment_to(np.array(period))
    turn = np.repeat((0, 1, 2), (points.size, points.size, 1))
    clock = np.concatenate((points, points, points[:1]))
    # Time, mass and first moment of the intensity up to each grid point, on the circle unrolled twice.
    t = clock + turn * period
    mass = intensity.mass_to(clock) + turn * total
    moment = (
        intensity.moment_to(clock)
        + turn * (moment_of_period + period * intensity.mass_to(clock))
        + period * total * turn * (turn - 1) / 2.0
    )
    cost = t * (mass - mass[:, None]) - (moment - moment[:, None])
    return points[circle_cuts(cost, retrievals)]


def polished(intensity: Intensity, points_h: FloatArray) -> FloatArray:
    """(m,) points with a local minimum of the delay, by descent from `points_h` (ascending in [0, period)).

    While all points stay in their segments of constant rate the delay is quadratic, so a Newton step leads to the
    minimum; it is cut off where the first point reaches an edge. A point on an edge at which the sign of the slope
    changes (the rate drops there) is a minimum and stays.
    """
    points = np.asarray(points_h, dtype=np.float64)
    delay = float(expected_delay(intensity, points))
    for _ in range(MAX_STEPS):
        moved = np.sort(_on_edge_if_near(intensity, points + _downhill(intensity, points)) % intensity.period_h)
        moved_delay = float(expected_delay(intensity, moved))
        if moved_delay >= delay:
            break
        points, delay = moved, moved_delay
    return points


def _downhill(intensity: Intensity, points: FloatArray) -> FloatArray:
    """(m,) the step of each point in hours, within the segment on the side to which the delay decreases."""
    left, right = delay_slopes(intensity, points)
    level = SLOPE_TOLERANCE * intensity.mass[-1]
    rightwards = (right < -level) & (-right >= left)
    after = np.searchsorted(intensity.edges_h, points, side="right") - 1
    before = np.searchsorted(intensity.edges_h, points, side="left") - 1
    # Points with slope 0 within a segment take part in the step, as their neighbours move.
    moving = np.flatnonzero(rightwards | (left > level) | (after == before))
    if not np.any(rightwards | (left > level)):
        return np.zeros(points.size)
    segment = np.where(rightwards, after, before)
    # A point at 0 moves left from the end of the period.
    at = np.where(segment < 0, points + intensity.period_h, points)
    segment %= intensity.rates_per_hour.size
    lower, upper = intensity.edges_h[segment] - at, intensity.edges_h[segment + 1] - at
    slope = np.where(rightwards, right, left)
    least_curvature = RIDGE * float(np.max(intensity.rates_per_hour))
    hessian = _hessian(intensity.rates_per_hour[segment], least_curvature)
    step = np.zeros(points.size)
    while moving.size:
        wanted = _towards_bottom(hessian[np.ix_(moving, moving)], slope[moving], least_curvature)
        room = np.where(wanted < 0.0, lower[moving], upper[moving])
        if np.all(room != 0.0):
            share = np.divide(room, wanted, out=np.ones(wanted.size), where=wanted != 0.0)
            step[moving] = wanted * min(1.0, float(np.min(share)))
            break
        # A point on an edge of its segment that would leave it stays there.
        moving = moving[room != 0.0]
    return step


def _towards_bottom(hessian: FloatArray, slope: FloatArray, least_curvature: float) -> FloatArray:
    """The Newton step; near a saddle point with the absolute values of the curvatures, which always descends."""
    try:
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        curvature, directions = np.linalg.eigh(hessian)
        size = np.maximum(np.abs(curvature), least_curvature)
        return np.asarray(directions @ ((slope @ directions) / -size))
    return np.asarray(-np.linalg.solve(hessian, slope))


def _on_edge_if_near(intensity: Intensity, points: FloatArray) -> FloatArray:
    """Return the points; those that missed an edge by rounding are moved onto it."""
    edges = intensity.edges_h
    k = np.searchsorted(edges, points).clip(1, edges.size - 1)
    nearest = np.where(points - edges[k - 1] < edges[k] - points, edges[k - 1], edges[k])
    return np.where(np.abs(points - nearest) < ON_EDGE * intensity.period_h, nearest, points)


def _hessian(rate: FloatArray, ridge: float) -> FloatArray:
    """(m, m) second derivatives of the delay in segments of these rates: 2 lambda_j, and -lambda_j with point j+1."""
    m = rate.size
    j = np.arange(m)
    hessian = np.diag(2.0 * rate)
    np.subtract.at(hessian, (j, (j + 1) % m), rate)
    np.subtract.at(hessian, ((j + 1) % m, j), rate)
    # With equal rates, moving all points together leaves the delay unchanged: the ridge keeps the matrix regular.
    hessian[j, j] += ridge
    return hessian


Points = Callable[[Intensity, int], FloatArray]
"""(intensity, retrievals >= 1) -> the hours of the retrievals."""


def retrieval_points_of_all(
    rates_per_hour: FloatArray, retrievals: IntArray, points: Points = retrieval_points
) -> list[FloatArray]:
    """The `points` of n feeds with hourly rates (n, 24), each with its own number of retrievals (n,) a day.

    A feed with 0 retrievals has no points. Points depend on the shape of the rates only, so feeds with the same pattern
    and number are solved once. Raises a `RowError` for invalid rates and negative numbers.
    """
    if rates_per_hour.ndim != 2 or retrievals.shape != rates_per_hour.shape[:1]:
        raise ValueError(f"{rates_per_hour.shape} rates for {retrievals.shape} numbers of retrievals")
    solved: dict[tuple[int, bytes], FloatArray] = {}
    schedules = []
    for row, (rates, number) in enumerate(zip(rates_per_hour, retrievals.tolist(), strict=True)):
        if number < 0:
            raise RowError(row, f"{number} retrievals, expected 0 or more")
        try:
            intensity = Intensity.hourly(rates)
        except ValueError as e:
            raise RowError(row, str(e)) from None
        key = (number, (rates / (np.max(rates) or 1.0)).tobytes())
        if key not in solved:
            solved[key] = points(intensity, number) if number else np.empty(0)
        schedules.append(solved[key])
    return schedules
