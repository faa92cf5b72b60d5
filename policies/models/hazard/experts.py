"""Two estimates of the rate of updates of an object, one with a long and one with a short memory.

The first, r_1, is the mean rate over all time observed. The second forgets: in a count A of updates and a time E of
observation, what happened s seconds ago weighs e^(-s/T), with T a day. It is drawn towards the first by as much as one
update weighs:

    r(s) = (A y + 1) / (E y + T (1 - y) + 1 / r_1),    y = e^(-s/T),    s seconds after the moment of A and E,

if nothing happened since. Its integral over s has a closed form. Rates are updates per second. The third expert is the
law of `gaps`.

The functions are plain arithmetic on floats, which numba compiles unchanged.
"""

import math

from bestbefore.policies.units import DAY_S

EXPERTS = 3
PRIOR_PER_S = 1.0 / DAY_S
"""The rate of an object of which nothing is known."""
LASTING_PSEUDO = 0.5
"""The updates at the prior rate that are added to those of an object for its mean rate."""
MEMORY_S = DAY_S
"""T."""
SMALL = 1e-9
"""A product below this is its own ln(1 + x)."""


def lasting_rate_per_s(updates: float, observed_s: float, prior_per_s: float) -> float:
    """r_1: the mean rate, with half an update at the prior rate added."""
    return (updates + LASTING_PSEUDO) / (observed_s + LASTING_PSEUDO / prior_per_s)


def lasting_mass(updates: float, observed_s: float, prior_per_s: float, quiet_s: float) -> float:
    """The integral of r_1 over the next `quiet_s` seconds, in which it falls as they are observed."""
    known_s = observed_s + LASTING_PSEUDO / prior_per_s
    return (updates + LASTING_PSEUDO) * math.log((known_s + quiet_s) / known_s)


def day_share(passed_s: float) -> float:
    """y: what remains of a decayed count after this time."""
    return math.exp(-passed_s / MEMORY_S)


def observed_in_day_s(observed_s: float, share: float) -> float:
    """The decayed time of observation after a further time that was observed, from what `day_share` leaves."""
    return observed_s * share + MEMORY_S * (1.0 - share)


def day_rate_per_s(updates: float, observed_s: float, lasting_per_s: float, share: float) -> float:
    """r(s), where `share` is y."""
    return (updates * share + 1.0) / (observed_in_day_s(observed_s, share) + 1.0 / lasting_per_s)


def day_mass(updates: float, observed_s: float, lasting_per_s: float, quiet_s: float) -> float:
    """The integral of r(s) over s from 0 to `quiet_s`."""
    # With P = E - T and Q = T + 1 / r_1 it is T times the integral over y of (A y + 1) / (y (P y + Q)), in partial
    # fractions 1 / Q / y + (A - P / Q) / (P y + Q). The logarithm of the second is divided by P, which may be 0.
    share = day_share(quiet_s)
    p = observed_s - MEMORY_S
    q = MEMORY_S + 1.0 / lasting_per_s
    z = (1.0 - share) / (p * share + q)
    grown = math.log1p(p * z) / p if abs(p * z) > SMALL else z
    return quiet_s / q + MEMORY_S * (updates - p / q) * grown
