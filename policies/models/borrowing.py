"""Empirical Bayes estimates: an object with a short history borrows strength from its group.

Rates. The prior of a group is a Gamma distribution fitted to its members (`rates.prior`), with shape a and b hours. The
posterior mean of an object that changed n times in h hours is

    (a + n) / (b + h) = (b / (b + h)) a/b + (h / (b + h)) n/h    updates per hour,

a mean of the group's rate a/b and the object's own rate n/h. Both have equal weight after b hours, in which a member
changes a times on average: the own rate counts early in a group whose members differ much (small a), late in a group
of similar members. Where contacts show only that the object changed since the contact before, the posterior mean is an
integral (`rates.posterior`).

Daily profiles. The profile of an object with n updates has the weight n / (n + `STRENGTH`) beside that of its group; in
the same way the profile of a group is weighed against that of all objects, and the latter against a uniform day.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.patterns import profiles
from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.posterior import posterior
from bestbefore.policies.models.rates.prior import GammaRate, fitted_prior
from bestbefore.policies.units import FloatArray, IntArray

STRENGTH = 24.0
"""The number of updates at which an object's own profile weighs as much as its group's: one for each hour bin."""
LEAST_MEMBERS = 5
"""A group with fewer observed members than this gets the prior of all objects."""
MOST_MEMBERS = 200
"""A prior is fitted to at most this many members, those observed longest; more members cost time and change little."""
DEFAULT_PRIOR = GammaRate(0.5, 12.0)
"""The prior where no object has usable evidence: one update a day, with the weight of half a day of observation."""


def group_priors(seen: Sequence[Evidence], group: IntArray) -> list[GammaRate]:
    """Fit the prior of each group; `group` (n,) is the group number, from 0, of each object."""
    of_all = _prior(seen) or DEFAULT_PRIOR
    members: list[list[Evidence]] = [[] for _ in range(int(group.max(initial=-1)) + 1)]
    for one, number in zip(seen, group.tolist(), strict=True):
        members[number].append(one)
    return [_prior(some, LEAST_MEMBERS) or of_all for some in members]


def _prior(members: Sequence[Evidence], least: int = 1) -> GammaRate | None:
    lasting = sorted((one for one in members if not one.is_empty), key=_observed_h, reverse=True)[:MOST_MEMBERS]
    if len(lasting) < least:
        return None
    try:
        return fitted_prior(lasting)
    except ValueError:  # no change, or no time without one: any rate fits
        return None


def _observed_h(seen: Evidence) -> float:
    return seen.open_h + float(seen.changed_h.sum())


def posterior_rates(seen: Sequence[Evidence], group: IntArray, priors: Sequence[GammaRate]) -> FloatArray:
    """(n,) updates per hour, the posterior mean of each object under the prior of its group."""
    rates = np.empty(len(seen))
    for i, one in enumerate(seen):
        prior = priors[group[i]]
        if one.changed_h.size:
            rates[i] = posterior(one, prior).rate_per_hour
        else:
            rates[i] = (prior.shape + one.updates) / (prior.hours + one.open_h)
    return rates


def posterior_profiles(counts: NDArray[np.number], group: IntArray) -> FloatArray:
    """(n, 24) the daily profile of each object, from its `counts` (n, 24) of updates by hour of the day."""
    groups = int(group.max(initial=-1)) + 1
    by_group = np.zeros((groups, counts.shape[1]))
    np.add.at(by_group, group, counts)
    of_all = profiles(np.sum(counts, axis=0, keepdims=True), None, STRENGTH)[0]
    of_groups = profiles(by_group, of_all, STRENGTH)[group]
    return profiles(counts, of_groups, STRENGTH)
