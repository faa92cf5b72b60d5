"""The rate of change of an object as believed after what was seen of it, starting from what is believed of its group.

A Gamma prior is adapted exactly by updates with known times. An interval of which only is known that it holds an
update multiplies the density by 1 - exp(-lambda L), and it is a Gamma density no more: moments and quantiles are
integrals over u = ln lambda, where the density is log-concave and the trapezoidal rule converges exponentially.
"""

import numpy as np

from bestbefore.policies.models.rates.likelihood import LogLikelihood
from bestbefore.policies.models.rates.prior import GammaRate
from bestbefore.policies.models.rates.seen import Estimate, Seen

POINTS = 1024
NEGLIGIBLE = 20.0
"""Where the density of u is exp(-20) of its largest, the integrals end."""


def believed(seen: Seen, prior: GammaRate, confidence: float = 0.95) -> Estimate:
    """The posterior mean, and the central interval that holds the rate with probability `confidence`.

    Exists for anything seen, be it nothing, no change, or changes only. The quantiles are interpolated between the
    points of the rule: for a shape above 1, three digits of them are right.
    """
    posterior = LogLikelihood.of(seen, more_updates=prior.shape, more_h=prior.hours)
    peak = posterior.maximum()
    height = posterior.at(peak)
    u = np.linspace(
        posterior.falls(peak, height, NEGLIGIBLE, -1), posterior.falls(peak, height, NEGLIGIBLE, 1), POINTS
    )
    density = np.exp(posterior.on(u) - height)
    mean = float(density @ np.exp(u) / density.sum())
    below = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))))
    low, high = np.interp([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], below / below[-1], u)
    return Estimate(mean, float(np.exp(low)), float(np.exp(high)))
