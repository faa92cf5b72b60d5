"""Retrieval points of least expected delay: exact on a grid, then polished between its points.

Source: `feeds` theorem 3, whose condition is necessary only. The expected delay is a sum over gaps (a, b) of
w(a, b) = integral of lambda(t) (b - t), which have the Monge property:
w(a, b') + w(a', b) - w(a, b) - w(a', b') = (b' - b) * Lambda(a, a') >= 0. So `circle_cuts` finds the optimum among
all points of a grid, and `polished` goes downhill from it between the grid points.
"""

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
"""Retrievals beyond which the dynamic programme would take seconds and hundreds of megabytes."""
MAX_STEPS = 100
"""Steps of `polished`; from an optimum on the grid fewer than twenty are taken."""
SLOPE_TOLERANCE = 1e-9
"""A slope of the delay below this share of the mass of the period counts as level:
the delay is then at its bottom but for rounding."""
RIDGE = 1e-9
"""What is added to the curvature at each point, as a share of the highest rate."""
ON_EDGE = 1e-12
"""A point nearer to an edge than this share of the period lies on it."""


def retrieval_points(intensity: Intensity, retrievals: int) -> FloatArray:
    """(m,) ascending hours in [0, period): `retrievals` >= 1 points of least expected delay.

    The optimum on `grid_h`, polished; for more than `MOST_EXACT` retrievals, `dense_points`. Where no postings are
    expected, every choice costs nothing: uniform spacing.
    """
    peak = float(np.max(intensity.rates_per_hour))
    if peak == 0.0:
        return uniform_points(intensity.period_h, retrievals)
    if retrievals > MOST_EXACT:
        return dense_points(intensity, retrievals)
    shape = Intensity(intensity.edges_h, intensity.rates_per_hour / peak)
    return polished(shape, points_on_grid(shape, retrievals, grid_h(shape, retrievals)))


def dense_points(intensity: Intensity, retrievals: int) -> FloatArray:
    """Return (m,) points spaced by 1 / sqrt(lambda), which is best in the limit of many.

    By calculus of variations, for gaps in which lambda hardly changes. With rough hourly rates 10 to 20 percent above
    the least delay at 100 a day, some 5 percent at 300, and ever nearer.
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
    # Time, mass and first moment of the intensity up to each grid point, on the circle rolled out twice.
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
    """(m,) points downhill from `points_h` (ascending in [0, period)), with an expected delay that is no greater.

    While the points stay in their segments the delay is quadratic, so a Newton step leads to the bottom; it ends where
    the first point reaches an edge of its segment. A point at which the sign of the slope changes (a fall of the rate)
    stays where it is.
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
    """(m,) hours to move each point, within the segments on whose side the delay falls; 0 for level points."""
    left, right = delay_slopes(intensity, points)
    level = SLOPE_TOLERANCE * intensity.mass[-1]
    rightwards = (right < -level) & (-right >= left)
    after = np.searchsorted(intensity.edges_h, points, side="right") - 1
    before = np.searchsorted(intensity.edges_h, points, side="left") - 1
    # Level points within a segment move too, where their neighbours do.
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
    """The Newton step; near a saddle, the one with the sizes of the curvatures, which always leads downhill."""
    try:
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        curvature, directions = np.linalg.eigh(hessian)
        size = np.maximum(np.abs(curvature), least_curvature)
        return np.asarray(directions @ ((slope @ directions) / -size))
    return np.asarray(-np.linalg.solve(hessian, slope))


def _on_edge_if_near(intensity: Intensity, points: FloatArray) -> FloatArray:
    """The points, those that missed an edge by rounding moved onto it."""
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
    # To move all points together may cost nothing (equal rates): a trace of curvature keeps the system regular.
    hessian[j, j] += ridge
    return hessian


def retrieval_points_of_all(rates_per_hour: FloatArray, retrievals: IntArray) -> list[FloatArray]:
    """The `retrieval_points` of n feeds with hourly rates (n, 24), each with its own number of retrievals (n,) a day.

    0 retrievals give no points. Points depend on the shape of the rates only, so feeds of one pattern and one number
    are solved once. Raises a `RowError` for bad rates and negative numbers.
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
            solved[key] = retrieval_points(intensity, number) if number else np.empty(0)
        schedules.append(solved[key])
    return schedules
