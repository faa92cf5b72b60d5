"""The fallback of a policy for objects with few known updates."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.estimates import set_group_pattern
from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.tolerance import Mass, Price, Share
from bestbefore.policies.validation.machinery.verdict import (
    BOOTSTRAP,
    FALLBACK_GROUP,
    FALLBACK_TTL,
    Decision,
    expires_by,
)

GROUP_LEAST_UPDATES = 10
"""The least number of updates with which a group is used as a fallback for its members."""
NO_RULE, LAST_UPDATE, GROUP_MEMBER = range(3)
"""The numbers of the rules below, by which compiled code knows them; 0 is no rule."""


@dataclass(frozen=True, slots=True)
class LastUpdate:
    """The policy `ttl`; it applies where an update is known, if only a Last-Modified before t_0."""

    name: ClassVar[str] = "ttl"
    number: ClassVar[int] = LAST_UPDATE

    alpha: float
    """Share of the time since the last update, 0 or more."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """The group's daily pattern at a rate between the object's own rate and the mean rate of a member.

    lambda_k = (n_o + 1) / (h_o + 1/R) * s_k, where R is the mean rate of a member (the N updates of the group over the
    sum of its members' hours) and s_k the pattern of the group; it applies where N >= 10. The rate is the posterior
    mean under a Gamma prior worth one update in the time 1/R.
    """

    name: ClassVar[str] = "group"
    number: ClassVar[int] = GROUP_MEMBER

    theta: float
    """The tolerated mass of expected updates, 0 or more."""


type Fallback = LastUpdate | GroupMember
"""A rule that may decide for an object with few known updates; `name` is its name in SPEC and configuration."""


def fallback_decision(
    features: Features, first: int, second: int, quiet: Share | Price, mass: Mass | Price, bootstrap_s: float
) -> Decision:
    """Decide by the first of two rules, given by number, that applies; if none does, expire after `bootstrap_s`.

    `quiet` is the tolerance of the rule `ttl`, `mass` that of the rule `group`.
    """
    for number in (first, second):
        if number == LAST_UPDATE and not math.isnan(features.last_update_s()):
            expiry_s = quiet.in_force(features).waning_passage_s(features, features.last_update_s())
            return expires_by(FALLBACK_TTL, expiry_s)
        if number == GROUP_MEMBER:
            expiry_s = member_expiry_s(features, mass)
            if not math.isnan(expiry_s):
                return expires_by(FALLBACK_GROUP, expiry_s)
    return expires_by(BOOTSTRAP, features.t + bootstrap_s)


def member_expiry_s(features: Features, mass: Mass | Price) -> float:
    """Return the expiry of `GroupMember`; NaN where the group has too few updates."""
    group_updates = features.set_group_counts()
    if group_updates < GROUP_LEAST_UPDATES or features.group_since_s() >= features.t:
        return math.nan
    set_group_pattern(features, group_updates)
    hours = (features.t - features.observed_since_s()) / HOUR_S
    own_per_hour = member_rate_per_hour(features.counted_updates(), hours, group_updates, features.member_hours())
    by_bin = features.by_bin
    return mass.in_force(features).passage_s(features, by_bin.group_edges_s, by_bin.rates, own_per_hour)


def member_rate_per_hour(updates: int, hours: float, group_updates: int, member_hours: float) -> float:
    """(n_o + 1) / (h_o + 1/R): a rate between the object's own rate and R, the mean rate of a member of its group.

    The object had `updates` in `hours`; the group had `group_updates` > 0 in `member_hours`, summed over its members.
    """
    hours_for_one_update = member_hours / group_updates
    return (updates + 1) / (hours + hours_for_one_update)
