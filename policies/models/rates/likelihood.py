"""The likelihood of a rate of change given the evidence, its maximum, and a confidence interval around it.

With lambda = exp(u), n updates in E hours of complete observation, and intervals of L_j hours, in each of which the
object changed at least once,

    l(u) = n u - E exp(u) + sum_j ln(1 - exp(-exp(u) L_j)),

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
    """The log-likelihood l(u). `updates` need not be whole: priors add to them and to `open_h`."""

    updates: float
    """n, 0 or more."""
    open_h: float
    """E, h, 0 or more."""
    changed_h: FloatArray
    """(m,) L_j, h, above 0."""

    @classmethod
    def of(cls, seen: Evidence, more_updates: float = 0.0, more_h: float = 0.0) -> Self:
        """Make the likelihood of the evidence, and of additional updates and hours."""
        return cls(seen.updates + more_updates, seen.open_h + more_h, seen.changed_h)

    @property
    def changes(self) -> float:
        """The number of changes: known updates, and intervals with at least one."""
        return self.updates + self.changed_h.size

    def at(self, u: float) -> float:
        """Return l(u) at one point."""
        expected = self._expected(u)
        return self.updates * u - self.open_h * math.exp(u) + float(np.log(-np.expm1(-expected)).sum())

    def on(self, u: FloatArray) -> FloatArray:
        """(k,) l(u) at each of (k,) points."""
        rates = np.exp(u)
        values: FloatArray = self.updates * u - self.open_h * rates
        for length_h in self.changed_h:
            values += np.log(-np.expm1(-np.maximum(rates * length_h, LEAST)))
        return values

    def slope(self, u: float) -> float:
        """dl/du, which decreases in u."""
        expected = self._expected(u)
        return self.updates - self.open_h * math.exp(u) + float((expected / np.expm1(expected)).sum())

    def curvature(self, u: float) -> float:
        """d2l/du2, 0 or less."""
        expected = self._expected(u)
        share = expected / np.expm1(expected)
        return float((share * (1.0 - expected - share)).sum()) - self.open_h * math.exp(u)

    def maximum(self) -> float:
        """The u at which l is largest; -inf without any change, inf without any unchanged time.

        The rate lies between changes / (E + sum L / 2) and changes / E, because 1 - x/2 <= x / (exp(x) - 1) <= 1.
        Newton's method is used while its steps stay in this bracket, bisection otherwise.
        """
        changes = self.changes
        if changes == 0.0:
            return -math.inf
        if self.open_h == 0.0:
            return math.inf
        low = math.log(changes / (self.open_h + 0.5 * float(self.changed_h.sum())))
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


def most_likely(seen: Evidence, confidence: float = 0.95) -> Estimate:
    """The maximum likelihood rate with its confidence interval.

    The rate of an object never found changed is 0; that of an object always found changed, without any hour of complete
    observation, is infinite.

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
    return Estimate(math.exp(u), low, high)
