"""What decides in place of a policy while hardly any update of the object is known."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import HOUR_S, History
from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict
from bestbefore.policies.validation.rules.ttl import Ttl

GROUP_LEAST_UPDATES = 10
"""The updates from which on a group says something about its members."""


class Fallback(Protocol):
    """A rule that may decide for an object of which little is known."""

    @property
    def name(self) -> str:
        """Its name in SPEC and configuration."""
        ...

    def verdict(self, history: History, group: Group | None, t: float) -> Verdict | None:
        """As `Policy.verdict`; None where the rule does not apply."""
        ...


@dataclass(frozen=True, slots=True)
class LastUpdate:
    """TTL, where an update is known, be it only a Last-Modified from before t_0."""

    name: ClassVar[str] = "ttl"

    alpha: float
    """Share of the time since the last update, 0 or more."""

    def verdict(self, history: History, group: Group | None, t: float) -> Verdict | None:
        if history.last_update_s(t) is None:
            return None
        return Verdict(Ttl(self.alpha).verdict(history, group, t).expiry_s, Reason.FALLBACK_TTL)


def member_rate_per_hour(updates: int, hours: float, group_updates: int, member_hours: float) -> float:
    """(n_o + 1) / (h_o + 1/R): the rate of an object between its own and R, that of a mean member of its group.

    The object had `updates` in `hours`; the group had `group_updates` > 0 in `member_hours`, summed over its members.
    """
    hours_for_one_update = member_hours / group_updates
    return (updates + 1) / (hours + hours_for_one_update)


@dataclass(frozen=True, slots=True)
class GroupMember:
    """The group's daily pattern at a rate between the object's own and that of a mean member.

    lambda_k = (n_o + 1) / (h_o + 1/R) * s_k, where R is the mean rate of a member (the N updates of the group over the
    sum of its members' hours) and s_k the pattern of the group; only where N >= 10. This is the mean of a Gamma
    distribution whose prior is one update in the time 1/R.
    """

    name: ClassVar[str] = "group"

    theta: float
    """Expected updates that are tolerated, 0 or more."""

    def verdict(self, history: History, group: Group | None, t: float) -> Verdict | None:
        after_s = history.counted_after_s
        if group is None or (group_updates := sum(group.counts(after_s, t))) < GROUP_LEAST_UPDATES:
            return None
        pattern = group.pattern(after_s, t, history.least_exposure_h)
        if pattern is None:
            return None
        hours = (t - history.observed_since_s) / HOUR_S
        member_hours = group.member_hours(after_s, t)
        own_per_hour = member_rate_per_hour(history.count(after_s, t), hours, group_updates, member_hours)
        return Verdict(first_passage_s(group.edges_s, pattern, t, self.theta / own_per_hour), Reason.FALLBACK_GROUP)
