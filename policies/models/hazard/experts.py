"""Three estimates of the rate of updates of an object, with a long, a middle and a short memory.

The first is a constant, the mean rate over all time observed. The others forget: in a count A of updates and a time E
of observation, what happened s seconds ago weighs e^(-s/T). Each is drawn towards the first by as much as m updates
weigh:

    r(s) = (A y + m) / (E y + T (1 - y) + m / r_1),    y = e^(-s/T),    s seconds after the moment of A and E,

if nothing happened since. Its integral over s has a closed form. Rates are updates per second.

The functions are plain arithmetic on floats, which numba compiles unchanged.
"""

import math

from bestbefore.policies.units import DAY_S, HOUR_S

EXPERTS = 3
PRIOR_PER_S = 1.0 / DAY_S
"""The rate of an object of which nothing is known."""
LASTING_PSEUDO = 0.5
"""The updates at the prior rate that are added to those of an object for its mean rate."""
DAY_MEMORY_S, DAY_PSEUDO = DAY_S, 1.0
"""T and m of the second estimate."""
HOURS_MEMORY_S, HOURS_PSEUDO = 3 * HOUR_S, 0.2
"""T and m of the third estimate."""


def lasting_rate_per_s(updates: float, observed_s: float, prior_per_s: float) -> float:
    """r_1: the mean rate, with half an update at the prior rate added."""
    return (updates + LASTING_PSEUDO) / (observed_s + LASTING_PSEUDO / prior_per_s)


def lasting_mass(updates: float, observed_s: float, prior_per_s: float, quiet_s: float) -> float:
    """The integral of r_1 over the next `quiet_s` seconds, in which it falls as they are observed."""
    known_s = observed_s + LASTING_PSEUDO / prior_per_s
    return (updates + LASTING_PSEUDO) * math.log((known_s + quiet_s) / known_s)


def recent_rate_per_s(
    count: float, exposure_s: float, memory_s: float, pseudo: float, lasting_per_s: float, share: float
) -> float:
    """r(s), where `share` is y = e^(-s/T) with T = `memory_s`."""
    weight_s = exposure_s * share + memory_s * (1.0 - share)
    return (count * share + pseudo) / (weight_s + pseudo / lasting_per_s)


def recent_mass(
    count: float, exposure_s: float, memory_s: float, pseudo: float, lasting_per_s: float, quiet_s: float
) -> float:
    """The integral of r(s) over s from 0 to `quiet_s`."""
    # With P = E - T and Q = T + m / r_1 it is T times the integral over y of (A y + m) / (y (P y + Q)), in partial
    # fractions m / Q / y + (A - m P / Q) / (P y + Q). The logarithm of the second is divided by P, which may be 0.
    share = math.exp(-quiet_s / memory_s)
    p = exposure_s - memory_s
    q = memory_s + pseudo / lasting_per_s
    z = (1.0 - share) / (p * share + q)
    grown = math.log1p(p * z) / p if abs(p * z) > 1e-12 else z
    return pseudo * quiet_s / q + memory_s * (count - pseudo * p / q) * grown
