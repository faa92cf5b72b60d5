"""The update models by the name that a row of a file gives. A new one is a function, a line in the table and a test.

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
"""Below, mean and median are hundreds of orders of magnitude apart."""
MOST_MOMENTS = 96
"""Potential updates in a period: the staleness of many takes seconds to tabulate for each object."""


def poisson(_rate: float, shape: float) -> None:
    """Updates at random: the rate says everything."""
    if not math.isnan(shape):
        raise ValueError("nothing, or another model")


def weibull(rate: float, shape: float) -> Weibull:
    """Intervals with the mean 1 / rate and the shape k: below 1 bursts, above 1 regular updates."""
    if not LEAST_WEIBULL <= shape < math.inf:
        raise ValueError(f"a number from {LEAST_WEIBULL} up")
    return Weibull.of_mean(shape, 1.0 / rate)


def pareto(rate: float, shape: float) -> Pareto:
    """Intervals with the mean 1 / rate and the shape > 1: the nearer to 1, the heavier the tail."""
    if not 1.0 < shape < math.inf:
        raise ValueError("a number above 1, else there is no mean interval")
    return Pareto.of_mean(shape, 1.0 / rate)


@cache
def quasi_deterministic(rate: float, shape: float) -> PotentialUpdates:
    """`shape` moments, evenly over the period from its start on, each an update with the probability rate / shape.

    Equal ones are one, as each is tabulated.
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
"""(rate > 0 in updates per period, shape; NaN if none is given) -> the law, None for Poisson updates.

Raises ValueError with the shape that is expected.
"""


def name_of(law: Law | None) -> str:
    """Return the name of a law in a file; `empirical` for intervals as they were seen."""
    if law is None:
        return "poisson"
    return "quasi-deterministic" if isinstance(law, PotentialUpdates) else type(law).__name__.lower()


def shape_of(law: Law | None) -> float:
    """Return the shape of a law as in a file; NaN where the law has none."""
    match law:
        case Weibull() | Pareto():
            return law.shape
        case PotentialUpdates():
            return float(law.times.size)
        case _:
            return math.nan
