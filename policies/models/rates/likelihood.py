"""The likelihood of a rate of change given the evidence, its maximum, and a confidence interval around it.

With lambda = exp(u), n updates in E hours of complete observation, and intervals of L_j hours with weight w_j, in each
of which the object changed at least once,

    l(u) = n u - E exp(u) + sum_j w_j ln(1 - exp(-exp(u) L_j)),

concave in u, since each term is. A Gamma prior adds its shape to n and its hours to E, so that the posterior density of
u has the same form and is evaluated by the same code.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from bestbefore.policies.models.rates.evidence import Estimate, Evidence
from bestbefore.policies.units import FloatArray

FARTHEST = 700.0
"""The largest exponent used: exp(-700) vanishes beside 1, and exp(700) is still a finite float64."""
LEAST = math.exp(-FARTHEST)
CONVERGED = 1e-12
"""A step of u below this ends an iteration; it is also the relative error of the rate."""
STEPS = 200
"""The most steps of an iteration."""


@dataclass(frozen=True, slots=True, eq=False)
class LogLikelihood:
    """The log-likelihood l(u). `updates` and `open_h` need not be whole: smoothing and priors add to them."""

    updates: float
    """n, 0 or more."""
    open_h: float
    """E, h, 0 or more."""
    changed_h: FloatArray
    """(m,) L_j, h, above 0."""
    weights: FloatArray
    """(m,) w_j, 0 or more."""

    @classmethod
    def of(cls, seen: Evidence, more_updates: float = 0.0, more_h: float = 0.0) -> Self:
        """Make the likelihood of the evidence, each interval with weight 1, and of additional updates and hours."""
        return cls(seen.updates + more_updates, seen.open_h + more_h, seen.changed_h, np.ones(seen.changed_h.size))

    @property
    def changes(self) -> float:
        """The number of changes, n + sum w_j: known updates, and intervals with at least one."""
        return self.updates + float(self.weights.sum())

    def at(self, u: float) -> float:
        """Return l(u) at one point."""
        expected = self._expected(u)
        return self.updates * u - self.open_h * math.exp(u) + float(self.weights @ np.log(-np.expm1(-expected)))

    def on(self, u: FloatArray) -> FloatArray:
        """(k,) l(u) at each of (k,) points."""
        rates = np.exp(u)
        values: FloatArray = self.updates * u - self.open_h * rates
        for length_h, weight in zip(self.changed_h, self.weights, strict=True):
            values += weight * np.log(-np.expm1(-np.maximum(rates * length_h, LEAST)))
        return values

    def slope(self, u: float) -> float:
        """dl/du, which decreases in u."""
        expected = self._expected(u)
        return self.updates - self.open_h * math.exp(u) + float(self.weights @ (expected / np.expm1(expected)))

    def curvature(self, u: float) -> float:
        """d2l/du2, 0 or less."""
        expected = self._expected(u)
        share = expected / np.expm1(expected)
        return float(self.weights @ (share * (1.0 - expected - share))) - self.open_h * math.exp(u)

    def maximum(self) -> float:
        """The u at which l is largest; -inf without any change, inf without any unchanged time.

        The rate lies between changes / (E + sum w L / 2) and changes / E, because 1 - x/2 <= x / (exp(x) - 1) <= 1.
        Newton's method is used while its steps stay in this bracket, bisection otherwise.
        """
        changes = self.changes
        if changes == 0.0:
            return -math.inf
        if self.open_h == 0.0:
            return math.inf
        low = math.log(changes / (self.open_h + 0.5 * float(self.weights @ self.changed_h)))
        high = math.log(changes / self.open_h)
        u = low
        for _ in range(STEPS):
            slope = self.slope(u)
            low, high = (u, high) if slope > 0.0 else (low, u)
            curvature = self.curvature(u)
            step = u - slope / curvature if curvature < 0.0 else math.nan
            following = step if low <= step <= high else 0.5 * (low + high)
            if abs(following - u) <= CONVERGED:
                return following
            u = following
        return u

    def level_point(self, peak: float, height: float, drop: float, side: int) -> float:
        """The u with l(u) = `height` - `drop` on one `side` (-1 or 1) of the maximum, searched for from `peak` on.

        `height` is the largest l and `drop` is above 0; l must fall that far on this side. A concave function lies
        below its tangents, so Newton's method that starts beyond the point approaches it monotonically.
        """
        target = height - drop
        width = 1.0
        u = peak + side * width
        while self.at(u) > target:
            width *= 2.0
            u = peak + side * width
        for _ in range(STEPS):
            step = (self.at(u) - target) / self.slope(u)
            u -= step
            if abs(step) <= CONVERGED * max(1.0, abs(u)):
                break
        return u

    def _expected(self, u: float) -> FloatArray:
        """The updates expected in each interval, clipped so that their exponential is finite."""
        return np.clip(math.exp(min(u, FARTHEST)) * self.changed_h, LEAST, FARTHEST)


def most_likely(seen: Evidence, smoothing: float = 0.0, confidence: float = 0.95) -> Estimate:
    """The maximum likelihood rate with its confidence interval.

    The rate of an object never found changed is 0; that of an object always found changed, without any hour of complete
    observation, is infinite. `smoothing` s > 0 avoids both: it adds s changed and s unchanged contacts of mean length
    (to a complete history s updates, the limit of such contacts). The usual s is 0.5, which for equal intervals is
    Jeffreys' prior for the share of unchanged contacts. The confidence interval is not smoothed.

    The interval is that of the likelihood ratio test: l within z^2 / 2 of its largest value, with z the quantile of the
    normal distribution. It reaches down to 0 or up to infinity where the rate does.
    """
    if seen.is_empty:
        return Estimate(0.0, 0.0, math.inf)
    likelihood = LogLikelihood.of(seen)
    u = likelihood.maximum()
    drop = 0.5 * NormalDist().inv_cdf(0.5 + 0.5 * confidence) ** 2
    if u == -math.inf:
        low, high = 0.0, drop / seen.open_h
    elif u == math.inf:
        anywhere = -math.log(float(seen.changed_h.min()))  # any start below the point is good for Newton's method
        low, high = math.exp(likelihood.level_point(anywhere, 0.0, drop, -1)), math.inf
    else:
        height = likelihood.at(u)
        low = math.exp(likelihood.level_point(u, height, drop, -1))
        high = math.exp(likelihood.level_point(u, height, drop, 1))
    rate = math.exp(_smoothed(seen, smoothing).maximum()) if smoothing > 0.0 else math.exp(u)
    return Estimate(rate, low, high)


def _smoothed(seen: Evidence, smoothing: float) -> LogLikelihood:
    if seen.contact_h == 0.0:
        return LogLikelihood.of(seen, more_updates=smoothing)
    return LogLikelihood(
        seen.updates,
        seen.open_h + smoothing * seen.contact_h,
        np.append(seen.changed_h, seen.contact_h),
        np.append(np.ones(seen.changed_h.size), smoothing),
    )
