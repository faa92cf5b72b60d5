"""Laws of the time between two updates of an object, and the expected stale time of a copy under them.

Updates form a renewal process: the times between them are independent and follow one law with tail
`tail(t) = P(interval > t)`. All times of a law are in one unit, that of its parameters; arrays may have any shape.

A contact finds the process at an arbitrary moment, so the next update follows within tau with probability
H(tau) = (1/mean) int_0^tau tail(v) dv, and a copy kept for tau is expected to be stale for
`stale_time(tau) = int_0^tau H(t) dt` of that time. H increases, so stale_time is convex, and even spacing of contacts
is optimal.

Source: Wolf et al., "Optimal crawling strategies for web search engines", sections 2.1, 2.3 and 4 (equation 3 by
exchanging its integrals; the paper's Weibull tail exp(-l t^a) has the scale l^(-1/a) here).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.special import exprel, gammainc, gammaln

from bestbefore.policies.units import FloatArray

NEARLY_NOTHING = 1e-4
"""Below this t / scale a Pareto law is computed by a series of three terms, as its closed form cancels."""
SMALL_POWER = 1e-8
"""Below this (t / scale)^shape a Weibull law is computed by a series of two terms."""


class RenewalLaw(Protocol):
    """A law of the time between updates, with a mean."""

    @property
    def mean(self) -> float:
        """The mean time between two updates, > 0 and finite."""

    def log_tail(self, t: FloatArray) -> FloatArray:
        """ln P(interval > t), t >= 0."""

    def stale_time(self, tau: FloatArray) -> FloatArray:
        """Return the expected stale time of a copy during a time tau >= 0 after a contact."""


@dataclass(frozen=True, slots=True)
class Poisson:
    """A Poisson process of updates: tail exp(-rate t)."""

    rate: float
    """Updates per unit of time, > 0."""

    def __post_init__(self) -> None:
        _positive("the rate of a Poisson process", self.rate)

    @property
    def mean(self) -> float:
        return 1.0 / self.rate

    def log_tail(self, t: FloatArray) -> FloatArray:
        """Return the logarithm of the tail, -rate t."""
        return -self.rate * t

    def log_density(self, t: FloatArray) -> FloatArray:
        """ln of the density of intervals."""
        return math.log(self.rate) - self.rate * t

    def stale_time(self, tau: FloatArray) -> FloatArray:
        """Return the expected stale time, as `poisson_stale_time` does."""
        return poisson_stale_time(self.rate, tau)


@dataclass(frozen=True, slots=True)
class Weibull:
    """Tail exp(-(t / scale)^shape): bursts for shape < 1 (the paper's long tail), regular updates for shape > 1."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _positive("the shape of a Weibull law", self.shape)
        _positive("the scale of a Weibull law", self.scale)

    @classmethod
    def of_mean(cls, shape: float, mean: float) -> Self:
        """Make the law with this shape > 0 and mean > 0; ValueError for others."""
        _positive("the shape of a Weibull law", shape)
        try:
            return cls(shape, mean / math.exp(math.lgamma(1.0 + 1.0 / shape)))
        except OverflowError:
            raise ValueError(f"the shape of a Weibull law is {shape}, too small to have a mean in numbers") from None

    @property
    def mean(self) -> float:
        return self.scale * math.exp(math.lgamma(1.0 + 1.0 / self.shape))

    def log_tail(self, t: FloatArray) -> FloatArray:
        """Return the logarithm of the tail, -(t / scale)^shape."""
        with np.errstate(over="ignore"):
            return -((t / self.scale) ** self.shape)

    def log_density(self, t: FloatArray) -> FloatArray:
        """ln of the density of intervals, t > 0."""
        log_share = np.log(t / self.scale)
        return math.log(self.shape / self.scale) + (self.shape - 1.0) * log_share + self.log_tail(t)

    def stale_time(self, tau: FloatArray) -> FloatArray:
        """Return the expected stale time, as `weibull_stale_time` does."""
        return weibull_stale_time(self.shape, self.scale, tau)


@dataclass(frozen=True, slots=True)
class Pareto:
    """Tail (scale / (scale + t))^shape, shape > 1: a heavy tail. With shape <= 1 it has no mean, and no equation 3."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _has_mean(self.shape)
        _positive("the scale of a Pareto law", self.scale)

    @classmethod
    def of_mean(cls, shape: float, mean: float) -> Self:
        """Make the law with this shape > 1 and mean > 0; ValueError for others."""
        _has_mean(shape)
        return cls(shape, mean * (shape - 1.0))

    @property
    def mean(self) -> float:
        return self.scale / (self.shape - 1.0)

    def log_tail(self, t: FloatArray) -> FloatArray:
        """-shape ln(1 + t / scale)."""
        return -self.shape * np.log1p(t / self.scale)

    def log_density(self, t: FloatArray) -> FloatArray:
        """ln of the density of intervals."""
        return math.log(self.shape / self.scale) - (self.shape + 1.0) * np.log1p(t / self.scale)

    def stale_time(self, tau: FloatArray) -> FloatArray:
        """Return the expected stale time, as `pareto_stale_time` does."""
        return pareto_stale_time(self.shape, self.scale, tau)


@dataclass(frozen=True, slots=True, eq=False)
class Empirical:
    """The observed intervals, each with the same probability."""

    intervals: FloatArray
    """(n,) ascending, > 0, n > 0."""
    _sums: FloatArray
    """(n+1,) the sum of the first k intervals."""
    _squares: FloatArray
    """(n+1,) the sum of the squares of the first k intervals."""

    @classmethod
    def of(cls, intervals: Iterable[float]) -> Self:
        """Make the law from intervals in any order; ValueError if there is none, or one is not positive and finite."""
        ascending = np.sort(checked_intervals(intervals))
        return cls(ascending, _running(ascending), _running(ascending**2))

    @property
    def mean(self) -> float:
        return float(self._sums[-1]) / len(self.intervals)

    def log_tail(self, t: FloatArray) -> FloatArray:
        """ln of the share of intervals longer than t; -infinite beyond the longest."""
        with np.errstate(divide="ignore"):
            return np.log1p(-np.searchsorted(self.intervals, t, side="right") / len(self.intervals))

    def stale_time(self, tau: FloatArray) -> FloatArray:
        """The sum over intervals d of min(d, tau) tau - min(d, tau)^2 / 2, divided by the sum of the intervals."""
        shorter = np.searchsorted(self.intervals, tau, side="right")
        longer = len(self.intervals) - shorter
        stale = tau * self._sums[shorter] - self._squares[shorter] / 2.0 + longer * tau**2 / 2.0
        return np.asarray(stale / self._sums[-1])


_OVERFLOW = np.errstate(over="ignore", invalid="ignore")
"""The series for small times is computed everywhere, and may overflow where it is not used."""


@_OVERFLOW
def poisson_stale_time(rate: FloatArray | float, tau: FloatArray) -> FloatArray:
    """tau - (1 - exp(-rate tau)) / rate, equation 10 for one interval; rates and times of shapes that broadcast."""
    r = rate * tau
    # near 0 the difference cancels, and a series of these terms is used
    few = tau * (r / 2.0) * (1.0 - r / 3.0 * (1.0 - r / 4.0 * (1.0 - r / 5.0 * (1.0 - r / 6.0))))
    return np.where(r < 0.01, few, tau + np.expm1(-r) / rate)


@_OVERFLOW
def weibull_stale_time(shape: FloatArray | float, scale: FloatArray | float, tau: FloatArray) -> FloatArray:
    """tau P(1/k, z) - (scale Gamma(2/k) / Gamma(1/k)) P(2/k, z), z = (tau/scale)^k, P the incomplete gamma function."""
    with np.errstate(over="ignore"):
        z = (tau / scale) ** shape
    spread = scale * np.exp(gammaln(2.0 / shape) - gammaln(1.0 / shape))
    closed = tau * gammainc(1.0 / shape, z) - spread * gammainc(2.0 / shape, z)
    # for a large shape z underflows soon; the tail is then 1 - z
    mean = scale * np.exp(gammaln(1.0 + 1.0 / shape))
    few = tau**2 / (2.0 * mean) * (1.0 - 2.0 * z / ((shape + 1.0) * (shape + 2.0)))
    return np.asarray(np.where(z < SMALL_POWER, few, closed))


@_OVERFLOW
def pareto_stale_time(shape: FloatArray | float, scale: FloatArray | float, tau: FloatArray) -> FloatArray:
    """tau - scale l exprel((2 - shape) l), l = ln(1 + tau / scale), exprel(x) = (e^x - 1) / x.

    Near a shape of 1 the difference cancels; below 1.5 a form without cancellation is used.
    """
    x = tau / scale
    c = np.asarray(shape - 1.0)
    logarithm = np.log1p(x)
    few = c * x**2 / 2.0 * (1.0 - (c + 1.0) * x / 3.0 * (1.0 - (c + 2.0) * x / 4.0))
    heavy = c < 0.5
    of_heavy = -((1.0 + x) * np.expm1(-c * logarithm) + c * x) / np.where(heavy, 1.0 - c, 1.0)
    closed = np.where(heavy, of_heavy, x - logarithm * exprel((1.0 - c) * logarithm))
    return scale * np.where(x < NEARLY_NOTHING / shape, few, closed)


def checked_intervals(intervals: Iterable[float]) -> FloatArray:
    """The intervals as (n,) float64, n > 0; ValueError, with the index, for one that is not positive and finite."""
    given = np.asarray(intervals if isinstance(intervals, np.ndarray) else list(intervals), dtype=np.float64)
    if not len(given):
        raise ValueError("no interval between updates, expected at least one")
    wrong = ~(np.isfinite(given) & (given > 0.0))
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(f"interval {first} between updates is {given[first]}, expected a positive number")
    return given


def _running(values: FloatArray) -> FloatArray:
    return np.concatenate(([0.0], np.cumsum(values)))


def _has_mean(shape: float) -> None:
    if not 1.0 < shape < math.inf:
        raise ValueError(f"the shape of a Pareto law is {shape}, expected more than 1: else it has no mean")


def _positive(what: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{what} is {value}, expected a positive number")
