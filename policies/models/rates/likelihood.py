"""The likelihood of a rate of change given what was seen, its maximum, and how far around it a rate is plausible.

With lambda = exp(u), n updates in E open hours, and intervals of L_j hours with weight w_j that hold an update or more,

    l(u) = n u - E exp(u) + sum_j w_j ln(1 - exp(-exp(u) L_j)),

concave in u, since each term is. A Gamma prior adds its shape to n and its hours to E, so that the posterior density of
u has the same form and is evaluated by the same code.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from bestbefore.policies.models.rates.seen import Estimate, Seen
from bestbefore.policies.units import FloatArray

FARTHEST = 700.0
"""exp(-700) is nothing beside 1, and exp(700) is still a float64."""
LEAST = math.exp(-FARTHEST)
CONVERGED = 1e-12
"""Of u, that is, relative of the rate."""
STEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class LogLikelihood:
    """l(u). `updates` and `open_h` need not be whole: smoothing and priors add to them."""

    updates: float
    """n, 0 or more."""
    open_h: float
    """E, h, 0 or more."""
    changed_h: FloatArray
    """(m,) L_j, h, above 0."""
    weights: FloatArray
    """(m,) w_j, 0 or more."""

    @classmethod
    def of(cls, seen: Seen, more_updates: float = 0.0, more_h: float = 0.0) -> Self:
        """Make a likelihood from what contacts showed, each of weight 1, and additional updates and hours."""
        return cls(seen.updates + more_updates, seen.open_h + more_h, seen.changed_h, np.ones(seen.changed_h.size))

    @property
    def changes(self) -> float:
        """Updates, and intervals that hold one or more: n + sum w_j."""
        return self.updates + float(self.weights.sum())

    def at(self, u: float) -> float:
        """l at one point."""
        expected = self._expected(u)
        return self.updates * u - self.open_h * math.exp(u) + float(self.weights @ np.log(-np.expm1(-expected)))

    def on(self, u: FloatArray) -> FloatArray:
        """(k,) l at each of (k,) points."""
        rates = np.exp(u)
        values: FloatArray = self.updates * u - self.open_h * rates
        for length_h, weight in zip(self.changed_h, self.weights, strict=True):
            values += weight * np.log(-np.expm1(-np.maximum(rates * length_h, LEAST)))
        return values

    def slope(self, u: float) -> float:
        """dl/du, falling in u."""
        expected = self._expected(u)
        return self.updates - self.open_h * math.exp(u) + float(self.weights @ (expected / np.expm1(expected)))

    def curvature(self, u: float) -> float:
        """d2l/du2, 0 or less."""
        expected = self._expected(u)
        share = expected / np.expm1(expected)
        return float(self.weights @ (share * (1.0 - expected - share))) - self.open_h * math.exp(u)

    def maximum(self) -> float:
        """The u at which l is largest; -inf if no update was seen, inf if no unchanged time was.

        The root lies between changes / (E + sum w L / 2) and changes / E, because 1 - x/2 <= x / (exp(x) - 1) <= 1:
        Newton's steps are taken where they stay between, halving where they do not.
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

    def falls(self, peak: float, height: float, drop: float, side: int) -> float:
        """The u at which l has fallen to `height` - `drop` on one side of its maximum, -1 or 1, sought from `peak` on.

        `height` is the largest l, `drop` above 0, and l must fall that far on this side. A concave function lies below
        its tangents, so Newton's steps from beyond the point approach it from there.
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
        """The updates expected in each interval, kept where their exponential is a number."""
        return np.clip(math.exp(min(u, FARTHEST)) * self.changed_h, LEAST, FARTHEST)


def most_likely(seen: Seen, smoothing: float = 0.0, confidence: float = 0.95) -> Estimate:
    """The rate of greatest likelihood, and the rates whose likelihood is not much smaller.

    Never found changed: the rate 0. Always found changed, without any open hour: infinite. With `smoothing` s > 0 it is
    neither: s changed and s unchanged contacts of mean length are added (s updates to a complete history, of which
    such contacts are the limit). The usual s is 0.5, for equal intervals Jeffreys' prior of the share of unchanged
    contacts. The interval is not smoothed.

    The interval is that of the likelihood ratio: l within z^2 / 2 of its largest value, z the quantile of the normal
    law. It reaches down to 0 or up to infinity where the rate itself does.
    """
    if seen.nothing:
        return Estimate(0.0, 0.0, math.inf)
    likelihood = LogLikelihood.of(seen)
    u = likelihood.maximum()
    drop = 0.5 * NormalDist().inv_cdf(0.5 + 0.5 * confidence) ** 2
    if u == -math.inf:
        low, high = 0.0, drop / seen.open_h
    elif u == math.inf:
        anywhere = -math.log(float(seen.changed_h.min()))  # Newton's steps come back from below, however far it is
        low, high = math.exp(likelihood.falls(anywhere, 0.0, drop, -1)), math.inf
    else:
        height = likelihood.at(u)
        low = math.exp(likelihood.falls(u, height, drop, -1))
        high = math.exp(likelihood.falls(u, height, drop, 1))
    rate = math.exp(_smoothed(seen, smoothing).maximum()) if smoothing > 0.0 else math.exp(u)
    return Estimate(rate, low, high)


def _smoothed(seen: Seen, smoothing: float) -> LogLikelihood:
    if seen.contact_h == 0.0:
        return LogLikelihood.of(seen, more_updates=smoothing)
    return LogLikelihood(
        seen.updates,
        seen.open_h + smoothing * seen.contact_h,
        np.append(seen.changed_h, seen.contact_h),
        np.append(np.ones(seen.changed_h.size), smoothing),
    )
