"""The observation times of the members of many groups, in arrays that are filled. Compiled as plain code: see `walk`.

An object is first contacted, which sets its t_0, and becomes a member of its group later, if at all. The moments are
starts of hours, as the proxy counts them.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import HOUR_S, FloatArray
from bestbefore.replay.traces.columns.columns import IdArray


class Membership(NamedTuple):
    """The objects of group i are in the places from `firsts[i]` up to `ends[i]`, in order of t_0."""

    place_of: NDArray[np.int64]
    """(objects,) the place of each object that was contacted."""
    starts_s: FloatArray
    """(objects,) the start of the hour of t_0."""
    joined: NDArray[np.uint8]
    """(objects,) 1 where it has become a member."""
    firsts: NDArray[np.int64]
    """(groups + 1,)"""
    ends: NDArray[np.int64]
    """(groups,)"""
    since_s: FloatArray
    """(groups,) t_0 of each group, the earliest of its members; infinite without any."""
    recent: NDArray[np.int64]
    """(groups,) the first place that is after the moment that `hours_observed` was asked for last."""
    recent_members: NDArray[np.int64]
    """(groups,) the members from that place on."""
    recent_starts_s: FloatArray
    """(groups,) the sum of their `starts_s`: whole numbers, so that their order does not matter."""
    earlier_members: NDArray[np.int64]
    """(groups,) the members before that place."""

    @classmethod
    def of(cls, group_of: IdArray, groups: int) -> Self:
        """Make the membership of objects by the number of the group of each. None was contacted."""
        firsts = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(group_of, minlength=groups), out=firsts[1:])
        objects = len(group_of)
        return cls(
            np.zeros(objects, dtype=np.int64), np.zeros(objects), np.zeros(objects, dtype=np.uint8),
            firsts, firsts[:-1].copy(), np.full(groups, math.inf), firsts[:-1].copy(),
            np.zeros(groups, dtype=np.int64), np.zeros(groups), np.zeros(groups, dtype=np.int64),
        )

    def copy(self) -> Self:
        """Return a copy to which can be added independently. It shares what is never written to."""
        return type(self)._make(column.copy() for column in self)._replace(firsts=self.firsts)


def meet(members: Membership, group: int, object_: int, since_s: float) -> None:
    """Take note of an object's t_0, not earlier than that of those before."""
    place = members.ends[group]
    members.ends[group] = place + 1
    members.place_of[object_] = place
    members.starts_s[place] = math.floor(since_s / HOUR_S) * HOUR_S


def join(members: Membership, group: int, object_: int) -> None:
    """Make an object that was met a member."""
    place = members.place_of[object_]
    start_s = members.starts_s[place]
    members.joined[place] = 1
    members.since_s[group] = min(members.since_s[group], start_s)
    if place < members.recent[group]:
        members.earlier_members[group] += 1
    else:
        members.recent_members[group] += 1
        members.recent_starts_s[group] += start_s


def hours_observed(members: Membership, group: int, after_s: float, t: float) -> float:
    """Return the hours observed, as `Group.member_hours` does.

    The next time `after_s` must not be earlier, nor t than any t_0.
    """
    place = members.recent[group]
    while place < members.ends[group] and members.starts_s[place] <= after_s:
        if members.joined[place]:
            members.recent_members[group] -= 1
            members.recent_starts_s[group] -= members.starts_s[place]
            members.earlier_members[group] += 1
        place += 1
    members.recent[group] = place
    since_s, recent, earlier = members.since_s[group], members.recent_members[group], members.earlier_members[group]
    seconds = 0.0
    if recent:
        seconds = recent * (t - since_s) - (members.recent_starts_s[group] - recent * since_s)
    if earlier:
        seconds += earlier * (t - after_s)
    return seconds / HOUR_S
