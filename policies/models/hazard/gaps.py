"""The time between two updates of an object as a log-logistic law.

Its hazard has the shapes that rates with a memory lack. Where the gaps of an object differ much, an update is the less
likely the longer the last one is ago; where they are all alike, it is due when such a time has passed.

The law is kept as three numbers: the number of gaps, their mean logarithm, and the sum of its squared deviations, in
which each further gap makes the earlier ones count less. Times are seconds. The functions are compiled unchanged.
"""

import math
from typing import NamedTuple

FORGETTING = 0.95
"""The factor by which a further gap makes the earlier ones count less."""
PSEUDO_GAPS = 0.5
"""The gaps of a constant rate that are added to those of an object."""
EULER = 0.5772
"""The logarithm of an exponential time with the mean 1 has the mean -0.5772."""
EXPONENTIAL_VARIANCE = 1.645
"""The variance of that logarithm."""
LOGISTIC = 1.8138
"""The standard deviation of the standard logistic law, pi / sqrt(3)."""
LEAST_DEVIATION = 0.1
"""The least standard deviation of the logarithm of a gap."""
LEAST_AGE_S = 1.0
LEAST_FOR_LOG = 0.01
"""Above this `log_of_one_plus` is exact to 1e-14."""
SURELY_LONG = 30.0
"""Above this z, ln(1 + e^z) is z."""


class GapLaw(NamedTuple):
    """A log-logistic law."""

    log_median: float
    """The logarithm of the median gap."""
    shape: float
    """beta; the larger, the more alike the gaps."""


def gap_law(gaps: float, mean_log: float, deviation: float, rate_per_s: float) -> GapLaw:
    """Return the law of an object with these gaps, drawn towards those of a constant rate."""
    known = gaps + PSEUDO_GAPS
    log_median = (gaps * mean_log + PSEUDO_GAPS * (-math.log(rate_per_s) - EULER)) / known
    spread = math.sqrt((deviation + PSEUDO_GAPS * EXPONENTIAL_VARIANCE) / known)
    return GapLaw(log_median, LOGISTIC / max(spread, LEAST_DEVIATION))


def log_of_one_plus(x: float) -> float:
    """ln(1 + x), with `log` where that is exact enough: `log1p` takes three times as long."""
    return math.log(1.0 + x) if abs(x) > LEAST_FOR_LOG else math.log1p(x)


def gap_mass(law: GapLaw, age_s: float) -> float:
    """The updates expected up to this age: the negative logarithm of the chance that a gap is longer."""
    if age_s <= 0.0:
        return 0.0
    z = law.shape * (math.log(age_s) - law.log_median)
    return z if z >= SURELY_LONG else log_of_one_plus(math.exp(z))


def gap_rate_per_s(law: GapLaw, age_s: float) -> float:
    """The hazard at this age, updates per second."""
    age_s = max(age_s, LEAST_AGE_S)
    z = law.shape * (math.log(age_s) - law.log_median)
    return law.shape / age_s / (1.0 + math.exp(-z))
