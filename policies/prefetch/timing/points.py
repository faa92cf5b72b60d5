"""The posting intensity of a feed within a period, and the expected delay for given retrieval points.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts" (`feeds`), definition 1, lemma 1 and
theorem 3. The unit of time is the hour, for periods, rates and points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.units import BINS, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Intensity:
    """A recurrent piecewise-constant posting intensity lambda(t): `rates_per_hour[k]` in [edges_h[k], edges_h[k+1])."""

    edges_h: FloatArray
    """(K+1,) ascending, from 0 to the period."""
    rates_per_hour: FloatArray
    """(K,) finite, 0 or more."""
    mass: FloatArray = field(init=False)
    """(K+1,) Lambda(0, edge): the expected postings up to each edge."""

    def __post_init__(self) -> None:
        mass = np.concatenate(([0.0], np.cumsum(self.rates_per_hour * np.diff(self.edges_h))))
        object.__setattr__(self, "mass", mass)

    @classmethod
    def of(cls, edges_h: ArrayLike, rates_per_hour: ArrayLike) -> Self:
        """Make a checked intensity; ValueError for edges that do not ascend from 0, and for the first invalid rate."""
        edges, rates = np.asarray(edges_h, dtype=np.float64), np.asarray(rates_per_hour, dtype=np.float64)
        if edges.ndim != 1 or rates.shape != (edges.size - 1,) or rates.size == 0:
            raise ValueError(f"an intensity has one rate between each two edges, not {rates.size} for {edges.size}")
        if edges[0] != 0.0 or not np.all(np.isfinite(edges)) or not np.all(np.diff(edges) > 0.0):
            raise ValueError(f"the edges of an intensity ascend from 0, not {edges.tolist()}")
        for k in np.flatnonzero(~(np.isfinite(rates) & (rates >= 0.0)))[:1].tolist():
            raise ValueError(f"rate {k} is {rates[k]}: a rate is a finite number, 0 or more")
        return cls(edges, rates)

    @classmethod
    def hourly(cls, rates_per_hour: ArrayLike) -> Self:
        """Make the intensity with these rates of the 24 hours of the day; errors as `of`."""
        return cls.of(np.arange(BINS + 1), rates_per_hour)

    @property
    def period_h(self) -> float:
        """The length of the period, h."""
        return float(self.edges_h[-1])

    def mass_to(self, t_h: FloatArray) -> FloatArray:
        """Lambda(0, t) for each t in [0, period]."""
        return np.asarray(np.interp(t_h, self.edges_h, self.mass))

    def moment_to(self, t_h: FloatArray) -> FloatArray:
        """The integral of lambda(s) * s over [0, t] for each t in [0, period]."""
        moments = np.cumsum(self.rates_per_hour * np.diff(self.edges_h**2)) / 2.0
        k = np.maximum(np.searchsorted(self.edges_h, t_h, side="left") - 1, 0)
        started = np.concatenate(([0.0], moments))[k]
        return np.asarray(started + self.rates_per_hour[k] * (t_h**2 - self.edges_h[k] ** 2) / 2.0)

    def rates_at(self, t_h: FloatArray) -> tuple[FloatArray, FloatArray]:
        """lambda just before and just after each t in [0, period]; they differ only at edges (0 is the period)."""
        before = np.searchsorted(self.edges_h, t_h, side="left") - 1
        after = np.searchsorted(self.edges_h, t_h, side="right") - 1
        return self.rates_per_hour[before], self.rates_per_hour[after % self.rates_per_hour.size]


def uniform_points(period_h: float, retrievals: int, first_h: float = 0.0) -> FloatArray:
    """(m,) m = `retrievals` >= 1 evenly spaced points, the first at `first_h` in [0, period / m)."""
    if retrievals < 1:
        raise ValueError(f"{retrievals} retrievals: a period has 1 or more")
    return first_h + np.arange(retrievals, dtype=np.float64) * (period_h / retrievals)


def expected_delay(intensity: Intensity, points_h: ArrayLike) -> FloatArray:
    """The expected sum of the delays of one period's postings, in hours, retrieved at the same points in each period.

    `points_h` (..., m) ascends along its last axis in [0, period]; the result has its leading axes. Divided by the mass
    of the period it is the mean delay of a posting.

    This is lemma 1 summed over the m gaps, where Lambda_0 = 0 and M is the first moment of the intensity over the
    period: sum_j tau_j (Lambda_j - Lambda_(j-1)) + (tau_1 + T)(Lambda(T) - Lambda_m) - M.
    """
    points = np.asarray(points_h, dtype=np.float64)
    mass = intensity.mass_to(points)
    arrived = np.diff(mass, axis=-1, prepend=0.0)
    wrapped = (points[..., 0] + intensity.period_h) * (intensity.mass[-1] - mass[..., -1])
    moment = intensity.moment_to(np.array(intensity.period_h))
    # Rounding may make a delay of 0 slightly negative.
    return np.asarray(np.maximum(np.sum(points * arrived, axis=-1) + wrapped - moment, 0.0))


def delay_slopes(intensity: Intensity, points_h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(m,), (m,) the left and right dD/dtau_j: the mass since the point before - lambda * gap to the next point.

    By equation 2 of `feeds` both are 0 at the optimum. At a jump of lambda they differ and there may be no root; an
    optimal point then has left <= 0 <= right.
    """
    period, total = intensity.period_h, intensity.mass[-1]
    mass = intensity.mass_to(points_h)
    arrived = np.diff(mass, prepend=mass[-1] - total)
    gap = np.diff(points_h, append=points_h[0] + period)
    before, after = intensity.rates_at(points_h)
    return arrived - before * gap, arrived - after * gap


def grid_h(intensity: Intensity, retrievals: int, step_h: float = 0.5) -> FloatArray:
    """(G,) the grid of [0, period) on which retrieval points are searched, G >= `retrievals`.

    It has all edges; between edges the step is at most `step_h` (the granularity of the paper) and at most a sixth of
    the optimal spacing for many retrievals, which is proportional to 1 / sqrt(lambda). A segment without postings has
    no inner points, since an earlier retrieval in it is never worse.
    """
    lengths = np.diff(intensity.edges_h)
    density = np.sqrt(intensity.rates_per_hour) * lengths
    if not np.any(density > 0.0):
        density = lengths
    parts = np.ceil(np.maximum(lengths / step_h, 6.0 * retrievals * density / np.sum(density)))
    parts = np.where(density > 0.0, parts, 1.0).astype(np.intp)
    starts = np.repeat(intensity.edges_h[:-1], parts)
    within = np.arange(starts.size) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.asarray(starts + within * np.repeat(lengths / parts, parts))


def checked_grid(intensity: Intensity, retrievals: int, grid: Sequence[float] | FloatArray) -> FloatArray:
    """Return the grid as an array; ValueError unless it ascends in [0, period) and has `retrievals` >= 1 points."""
    points = np.asarray(grid, dtype=np.float64)
    if points.ndim != 1 or not np.all(np.diff(points) > 0.0) or np.any((points < 0.0) | (points >= intensity.period_h)):
        raise ValueError(f"a grid ascends in [0, {intensity.period_h:g})")
    if not 1 <= retrievals <= points.size:
        raise ValueError(f"{retrievals} retrievals on a grid of {points.size} points: expected 1 to {points.size}")
    return points
