"""The probability from which on a change of a sibling outdates a copy, by what its policy tolerates."""

from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S


def least_chance(history: History, current_s: float, expiry_s: float, least: float) -> float:
    """Return half the number of updates that are expected between `current_s` and `expiry_s`, but at least `least`.

    The copy is current at `current_s`; the number follows from the object's mean rate, with half an update in a day as
    the prior.

    Why half: over a lifetime L a mass M = lambda L passes, and a hit is stale with a probability of M / 2 on average.
    With rho hits a second, each stale one worth c validations, the cost 1 / L + c rho M / 2 a second is least where
    c rho = 2 / (L M). When a share s of the lifetime is left, a copy that is outdated with the probability q costs
    q c rho s L = 2 q s / M, and to validate it now, in place of at its expiry, costs s. That is less if q > M / 2.
    """
    since_s = min(history.since_s, current_s)
    updates = history.count(since_s, current_s)
    return least_chance_of(updates, current_s - since_s, expiry_s - current_s, least)


def least_chance_of(updates: int, observed_s: float, lifetime_s: float, least: float) -> float:
    """Return `least_chance` by the number of updates in the time observed."""
    return max(least, 0.5 * (updates + 0.5) / (observed_s + DAY_S) * lifetime_s)
