"""The probability from which on a change of a sibling outdates a copy, by what its policy tolerates."""

import math

from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S, HOUR_S


def least_chance(history: History, current_s: float, expiry_s: float, least: float) -> float:
    """Return half the number of updates that are expected between `current_s` and `expiry_s`, but at least `least`.

    The copy is current at `current_s`; the number follows from the object's mean rate, with half an update in a day as
    the prior. To this comes the probability that the object changes within an hour anyway.

    Why half: over a lifetime L a mass M = lambda L passes, and a hit is stale with a probability of M / 2 on average.
    With rho hits a second, each stale one worth c validations, the cost 1 / L + c rho M / 2 a second is least where
    c rho = 2 / (L M). When a share s of the lifetime is left, a copy that is outdated with the probability q costs
    q c rho s L = 2 q s / M, and to validate it now, in place of at its expiry, costs s. That is less if q > M / 2.

    Why an hour: objects that change often coincide by chance. Two changes match within twenty minutes, and changes
    crowd in some hours of the day.
    """
    since_s = min(history.since_s, current_s)
    updates = history.count(since_s, current_s)
    return least_chance_of(updates, current_s - since_s, expiry_s - current_s, least)


def least_chance_of(updates: int, observed_s: float, lifetime_s: float, least: float) -> float:
    """Return `least_chance` by the number of updates in the time observed."""
    per_s = (updates + 0.5) / (observed_s + DAY_S)
    tolerated = min(max(least, 0.5 * per_s * lifetime_s), 1.0)
    return 1.0 - (1.0 - tolerated) * math.exp(-per_s * HOUR_S)
