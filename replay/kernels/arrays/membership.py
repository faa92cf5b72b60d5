"""The observation times of the members of many groups, in growing arrays; compiled unchanged by `compiled`.

The first contact sets the t_0 of an object; at a later contact it becomes a member of its group. Times are rounded down
to the hour, as in the proxy.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import HOUR_S, FloatArray
from bestbefore.replay.traces.columns.columns import IdArray


class Membership(NamedTuple):
    """The objects of group i are at the places from `firsts[i]` up to `ends[i]`, in order of t_0."""

    place_of: NDArray[np.int64]
    """(objects,) the place of each contacted object."""
    starts_s: FloatArray
    """(places,) the start of the hour of t_0."""
    joined: NDArray[np.uint8]
    """(places,) 1 if the object is a member."""
    firsts: NDArray[np.int64]
    """(groups + 1,) the first place of each group."""
    ends: NDArray[np.int64]
    """(groups,) the place after the last object of each group."""
    since_s: FloatArray
    """(groups,) t_0 of each group, the earliest of its members; infinite without members."""
    recent: NDArray[np.int64]
    """(groups,) the first place after the last `after_s` of `hours_observed`."""
    recent_members: NDArray[np.int64]
    """(groups,) the number of members from that place on."""
    recent_starts_s: FloatArray
    """(groups,) the sum of their `starts_s`: whole numbers, so that the order of summation does not matter."""
    earlier_members: NDArray[np.int64]
    """(groups,) the number of members before that place."""

    @classmethod
    def of(cls, group_of: IdArray, groups: int) -> Self:
        """Make the membership of objects without contacts; `group_of` is the group number of each."""
        firsts = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(group_of, minlength=groups), out=firsts[1:])
        objects = len(group_of)
        return cls(
            np.zeros(objects, dtype=np.int64), np.zeros(objects), np.zeros(objects, dtype=np.uint8),
            firsts, firsts[:-1].copy(), np.full(groups, math.inf), firsts[:-1].copy(),
            np.zeros(groups, dtype=np.int64), np.zeros(groups), np.zeros(groups, dtype=np.int64),
        )

    def copy(self) -> Self:
        """Return an independent copy; arrays that never change are shared."""
        return type(self)._make(column.copy() for column in self)._replace(firsts=self.firsts)


def meet(members: Membership, group: int, object_: int, since_s: float) -> None:
    """Set the t_0 of an object at its first contact, not earlier than the t_0 of previous objects."""
    place = members.ends[group]
    members.ends[group] = place + 1
    members.place_of[object_] = place
    members.starts_s[place] = math.floor(since_s / HOUR_S) * HOUR_S


def join(members: Membership, group: int, object_: int) -> None:
    """Make a contacted object a member of its group."""
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
    """Return the hours observed; see `Group.member_hours`.

    `after_s` must not be earlier than in the call before, and t not earlier than any t_0.
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
