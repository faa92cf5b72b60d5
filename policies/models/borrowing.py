"""Rate estimates that borrow strength: an object seen little takes from its group, and less as more is seen.

Rates. The group's rates are a Gamma distribution fitted to its members (`rates.prior`), with shape a and b hours. An
object that was seen to change n times in h hours is believed to change at

    (a + n) / (b + h) = (b / (b + h)) a/b + (h / (b + h)) n/h    an hour,

so its own history has half of the say after b hours, which is when the members of a group with mean rate a/b have
changed a times on average: soon in a group whose members differ much (a small), late in one of equals. Where contacts
tell only that there was a change since the last one, the posterior mean is an integral (`rates.posterior`).

Hours of the day. Likewise, with shares of the day in place of rates: the hours of an object's n updates have the weight
n / (n + `STRENGTH`) beside its group's, the group's beside those of all objects, and these beside a uniform day.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.patterns import profiles
from bestbefore.policies.models.rates.posterior import believed
from bestbefore.policies.models.rates.prior import GammaRate, fitted_prior
from bestbefore.policies.models.rates.seen import Seen
from bestbefore.policies.units import FloatArray, IntArray

STRENGTH = 24.0
"""Updates after which an object's own hours weigh as much as those of its group: one for each hour of the day."""
LEAST_MEMBERS = 5
"""A group with fewer members that were seen for any time takes its rate from all objects."""
MOST_MEMBERS = 200
"""A prior is fitted to so many members, those seen for longest: more make it no better, and cost time."""
UNKNOWN = GammaRate(0.5, 12.0)
"""Where nothing ever changed or was seen to stay: one update a day, worth half a day of observation."""


def group_priors(seen: Sequence[Seen], group: IntArray) -> list[GammaRate]:
    """The distribution of rates in each group; `group` (n,) is the number, from 0, of each object's."""
    of_all = _prior(seen) or UNKNOWN
    members: list[list[Seen]] = [[] for _ in range(int(group.max(initial=-1)) + 1)]
    for one, number in zip(seen, group.tolist(), strict=True):
        members[number].append(one)
    return [_prior(some, LEAST_MEMBERS) or of_all for some in members]


def _prior(members: Sequence[Seen], least: int = 1) -> GammaRate | None:
    lasting = sorted((one for one in members if not one.nothing), key=_hours, reverse=True)[:MOST_MEMBERS]
    if len(lasting) < least:
        return None
    try:
        return fitted_prior(lasting)
    except ValueError:  # no change, or no time without one: any rate fits
        return None


def _hours(seen: Seen) -> float:
    return seen.open_h + float(seen.changed_h.sum())


def believed_rates(seen: Sequence[Seen], group: IntArray, priors: Sequence[GammaRate]) -> FloatArray:
    """(n,) updates per hour, the posterior mean of each object under the prior of its group."""
    rates = np.empty(len(seen))
    for i, one in enumerate(seen):
        prior = priors[group[i]]
        if one.changed_h.size:
            rates[i] = believed(one, prior).rate_per_hour
        else:
            rates[i] = (prior.shape + one.updates) / (prior.hours + one.open_h)
    return rates


def believed_profiles(counts: NDArray[np.number], group: IntArray) -> FloatArray:
    """(n, 24) the shares of the day in which each object is updated, from its `counts` (n, 24) of updates by hour."""
    groups = int(group.max(initial=-1)) + 1
    by_group = np.zeros((groups, counts.shape[1]))
    np.add.at(by_group, group, counts)
    of_all = profiles(np.sum(counts, axis=0, keepdims=True), None, STRENGTH)[0]
    of_groups = profiles(by_group, of_all, STRENGTH)[group]
    return profiles(counts, of_groups, STRENGTH)
