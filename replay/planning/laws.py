"""The table of update models by name, as in an object file. A new model is a function, a line here and a test.

Source: Wolf et al., "Optimal crawling strategies for web search engines", section 2.1.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from bestbefore.policies.models.renewal.laws import Pareto, Weibull
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates
from bestbefore.replay.planning.objects import Law

LEAST_WEIBULL = 0.01
"""The least shape of a Weibull law; below it, mean and median are hundreds of orders of magnitude apart."""
MOST_MOMENTS = 96
"""The most potential updates in a period; tabulating the staleness of more takes seconds for each object."""


def poisson(_rate: float, shape: float) -> None:
    """A Poisson process, which has no shape."""
    if not math.isnan(shape):
        raise ValueError("nothing, or another model")


def weibull(rate: float, shape: float) -> Weibull:
    """A Weibull law with the mean 1 / rate and this shape: bursts below 1, regular updates above 1."""
    if not LEAST_WEIBULL <= shape < math.inf:
        raise ValueError(f"a number from {LEAST_WEIBULL} up")
    return Weibull.of_mean(shape, 1.0 / rate)


def pareto(rate: float, shape: float) -> Pareto:
    """A Pareto law with the mean 1 / rate and this shape > 1: the closer to 1, the heavier the tail."""
    if not 1.0 < shape < math.inf:
        raise ValueError("a number above 1, else there is no mean interval")
    return Pareto.of_mean(shape, 1.0 / rate)


@cache
def quasi_deterministic(rate: float, shape: float) -> PotentialUpdates:
    """`shape` evenly spaced moments from the start of the period, each an update with the probability rate / shape.

    The result is cached, so that equal laws share one table of staleness.
    """
    if not (1.0 <= shape <= MOST_MOMENTS and shape == int(shape) and rate <= shape):
        raise ValueError(
            f"the whole number of moments in a period at which the object may be updated, at least its rate {rate:g} "
            f"and at most {MOST_MOMENTS}"
        )
    moments = np.arange(shape) / shape
    return PotentialUpdates.of(moments, np.full(len(moments), rate / shape), 1.0)


MODELS: Mapping[str, Callable[[float, float], Law | None]] = {
    "poisson": poisson,
    "weibull": weibull,
    "pareto": pareto,
    "quasi-deterministic": quasi_deterministic,
}
"""(rate > 0 in updates per period, shape or NaN) -> the law; None for Poisson updates.

A ValueError has the expected shape as its text.
"""


def name_of(law: Law | None) -> str:
    """Return the name of a law in a file; `empirical` for observed intervals."""
    if law is None:
        return "poisson"
    return "quasi-deterministic" if isinstance(law, PotentialUpdates) else type(law).__name__.lower()


def shape_of(law: Law | None) -> float:
    """Return the shape of a law as in a file; NaN for a law without one."""
    match law:
        case Weibull() | Pareto():
            return law.shape
        case PotentialUpdates():
            return float(law.times.size)
        case _:
            return math.nan
