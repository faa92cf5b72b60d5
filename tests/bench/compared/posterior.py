"""The posterior distribution of an object's rate of change, given its evidence and the Gamma prior of its group.

Updates with known times keep the density a Gamma density. An interval in which the object changed at least once
multiplies the density by 1 - exp(-lambda L), after which it is no Gamma density: moments and quantiles are then
integrals over u = ln lambda, where the density is log-concave and the trapezoidal rule converges exponentially.
"""

import numpy as np

from bestbefore.policies.models.rates.evidence import Estimate, Evidence
from bestbefore.policies.models.rates.likelihood import LogLikelihood
from bestbefore.policies.models.rates.prior import GammaRate

POINTS = 1024
"""The points of the trapezoidal rule."""
NEGLIGIBLE = 20.0
"""The integrals end where the density of u is exp(-20) of its maximum."""


def posterior(seen: Evidence, prior: GammaRate, confidence: float = 0.95) -> Estimate:
    """The posterior mean, and the central interval that holds the rate with probability `confidence`.

    Any evidence is accepted: none at all, no change, or changes only. The quantiles are interpolated between the points
    of the rule; for a shape above 1 they are right to three digits.
    """
    likelihood = LogLikelihood.of(seen, more_updates=prior.shape, more_h=prior.hours)
    peak = likelihood.maximum()
    height = likelihood.at(peak)
    start, end = (likelihood.level_point(peak, height, NEGLIGIBLE, side) for side in (-1, 1))
    u = np.linspace(start, end, POINTS)
    density = np.exp(likelihood.on(u) - height)
    mean = float(density @ np.exp(u) / density.sum())
    below = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))))
    low, high = np.interp([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], below / below[-1], u)
    return Estimate(mean, float(np.exp(low)), float(np.exp(high)))
