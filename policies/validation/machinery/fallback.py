"""The fallback of a policy while hardly any update of the object is known."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.estimates import set_group_pattern
from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.verdict import (
    BOOTSTRAP,
    FALLBACK_GROUP,
    FALLBACK_TTL,
    Decision,
    expires_by,
)
from bestbefore.policies.validation.rules.ttl import ttl_expiry_s

GROUP_LEAST_UPDATES = 10
"""The updates from which on a group says something about its members."""
NO_RULE, LAST_UPDATE, GROUP_MEMBER = range(3)
"""The numbers of the rules below, and of none."""


@dataclass(frozen=True, slots=True)
class LastUpdate:
    """TTL, where an update is known, be it only a Last-Modified from before t_0."""

    name: ClassVar[str] = "ttl"
    number: ClassVar[int] = LAST_UPDATE

    alpha: float
    """Share of the time since the last update, 0 or more."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """The group's daily pattern at a rate between the object's own and that of a mean member.

    lambda_k = (n_o + 1) / (h_o + 1/R) * s_k, where R is the mean rate of a member (the N updates of the group over the
    sum of its members' hours) and s_k the pattern of the group; only where N >= 10. This is the mean of a Gamma
    distribution whose prior is one update in the time 1/R.
    """

    name: ClassVar[str] = "group"
    number: ClassVar[int] = GROUP_MEMBER

    theta: float
    """Expected updates that are tolerated, 0 or more."""


type Fallback = LastUpdate | GroupMember
"""A rule that may decide for an object of which little is known, by its name in SPEC and configuration."""


def fallback_decision(
    known: Features, first: int, second: int, alpha: float, theta: float, bootstrap_s: float
) -> Decision:
    """Decide by the first of two rules that applies, given by their numbers, else by the bootstrap's lifetime."""
    for number in (first, second):
        if number == LAST_UPDATE and not math.isnan(known.last_update_s()):
            return expires_by(FALLBACK_TTL, ttl_expiry_s(known, alpha))
        if number == GROUP_MEMBER:
            expiry_s = member_expiry_s(known, theta)
            if not math.isnan(expiry_s):
                return expires_by(FALLBACK_GROUP, expiry_s)
    return expires_by(BOOTSTRAP, known.t + bootstrap_s)


def member_expiry_s(known: Features, theta: float) -> float:
    """Return the expiry of `GroupMember`; NaN where too little is known of the group."""
    group_updates = known.set_group_counts()
    if group_updates < GROUP_LEAST_UPDATES or known.group_since_s() >= known.t:
        return math.nan
    set_group_pattern(known, group_updates)
    hours = (known.t - known.observed_since_s()) / HOUR_S
    own_per_hour = member_rate_per_hour(known.counted_updates(), hours, group_updates, known.member_hours())
    return first_passage_s(known.by_bin.group_edges_s, known.by_bin.rates, known.t, theta / own_per_hour)


def member_rate_per_hour(updates: int, hours: float, group_updates: int, member_hours: float) -> float:
    """(n_o + 1) / (h_o + 1/R): the rate of an object between its own and R, that of a mean member of its group.

    The object had `updates` in `hours`; the group had `group_updates` > 0 in `member_hours`, summed over its members.
    """
    hours_for_one_update = member_hours / group_updates
    return (updates + 1) / (hours + hours_for_one_update)
