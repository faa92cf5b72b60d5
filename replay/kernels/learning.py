"""The observation of contacts in arrays, equivalent to `addon.engine.learning` for the contacts of a trace.

The live code handles validators, lists and feeds of origins, and observations in any order. Here contacts are in order
of time, and each shows whether there were updates and the time of the last one. Compiled unchanged by `compiled`.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.engine.learning import DETAILED_UPDATES
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.kernels.arrays.membership import Membership, join, meet
from bestbefore.replay.kernels.arrays.tallies import Tallies, Window, count_in
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.lookup import first_after
from bestbefore.replay.traces.columns.columns import IdArray

NEVER_S = -math.inf
"""The time of an event that has not happened."""


class LearntColumns(NamedTuple):
    """What is learnt of each object and of each group, as columns."""

    since_s: FloatArray
    """(objects,) t_0: the first contact."""
    contact_s: FloatArray
    """(objects,) the last contact."""
    last_s: FloatArray
    """(objects,) u_n: the last update that was learnt, or that the first contact found to lie before it."""
    seen: NDArray[np.int64]
    """(objects,) the first update of `Truth` after the last contact."""
    updates: Tallies
    """(owners) those that were learnt."""
    detailed: int
    """How many updates of an object are known by their moments."""
    folded: NDArray[np.int64]
    """(owners,) the first of them that is known by its moment; those before it only by their hours."""
    window: Window
    """Those that policies count."""
    hours: Tallies
    """(groups) the updates learnt of members, by the hour."""
    group_window: Window
    members: Membership
    counts: bool
    """Whether updates are counted, beyond knowing the last."""
    counts_groups: bool

    @classmethod
    def nothing(cls, truth: Truth) -> Self:
        """Return the state before any contact."""
        never_s = np.full(len(truth.owner_of), NEVER_S)
        updates, hours = truth.nothing_learnt(), truth.nothing_in_hours()
        return cls(
            never_s, never_s.copy(), never_s.copy(), truth.firsts[truth.owner_of], updates, DETAILED_UPDATES,
            updates.firsts[:-1].copy(), Window.of(updates), hours, Window.of(hours),
            Membership.of(truth.group_of, len(hours.ends)), counts=True, counts_groups=True,
        )

    def copy(self, *, counts: bool, counts_groups: bool) -> Self:
        """Return a copy that learns on independently, as much as its policy needs. No policy has used this one."""
        updates, hours = self.updates.copy(), self.hours.copy()
        return type(self)(
            self.since_s.copy(), self.contact_s.copy(), self.last_s.copy(), self.seen.copy(), updates, self.detailed,
            self.folded.copy(), Window.of(updates), hours, Window.of(hours), self.members.copy(), counts, counts_groups,
        )


def learn(truth: Truth, learnt: LearntColumns, object_: int, t: float) -> None:
    """Learn from a contact at t, not earlier than any before. As `addon.engine.learning.observe`."""
    if t <= learnt.contact_s[object_]:
        return
    is_first = learnt.contact_s[object_] == NEVER_S
    owner = truth.owner_of[object_]
    before = learnt.seen[object_]
    seen = first_after(truth.updates_s, before, truth.firsts[owner + 1], t)
    learnt.contact_s[object_] = t
    learnt.seen[object_] = seen
    if seen > before:
        learnt.last_s[object_] = truth.updates_s[seen - 1]
    if is_first:
        learnt.since_s[object_] = t
    if learnt.counts_groups:
        if is_first:
            meet(learnt.members, truth.group_of[object_], object_, t)
        elif not is_member(learnt, object_):
            join(learnt.members, truth.group_of[object_], object_)
    if learnt.counts and not is_first:
        if seen > before:
            add_update(truth, learnt, object_, seen - 1)
        fold(learnt, owner)


def is_member(learnt: LearntColumns, object_: int) -> bool:
    """Whether the object, contacted before, counts in its group."""
    return bool(learnt.members.joined[learnt.members.place_of[object_]])


def add_update(truth: Truth, learnt: LearntColumns, object_: int, update: int) -> None:
    """Learn an update of a member, later than those before."""
    owner = truth.owner_of[object_]
    place = learnt.updates.ends[owner]
    learnt.updates.ends[owner] = place + 1
    learnt.updates.times_s[place] = truth.updates_s[update]
    learnt.updates.bins[place] = int(truth.updates_s[update] % DAY_S // HOUR_S)
    learnt.updates.amounts[place] = 1
    count_in(learnt.window, learnt.updates, owner, place)
    if learnt.counts_groups:
        group, hour = truth.group_of[object_], truth.hour_of[update]
        learnt.hours.amounts[hour] += 1
        count_in(learnt.group_window, learnt.hours, group, hour)


def fold(learnt: LearntColumns, owner: int) -> None:
    """Keep of all but the latest updates only the hours, whose starts replace the times."""
    while learnt.updates.ends[owner] - learnt.folded[owner] > learnt.detailed:
        place = learnt.folded[owner]
        learnt.updates.times_s[place] = math.floor(learnt.updates.times_s[place] / HOUR_S) * HOUR_S
        learnt.folded[owner] = place + 1


def report(truth: Truth, learnt: LearntColumns, object_: int, since_s: float, t: float) -> None:
    """Let the whole history of an object since `since_s` up to t be known. Nothing was known of it before."""
    owner = truth.owner_of[object_]
    first = truth.firsts[owner]
    seen = first_after(truth.updates_s, first, truth.firsts[owner + 1], t)
    learnt.since_s[object_] = since_s
    learnt.contact_s[object_] = t
    learnt.seen[object_] = seen
    meet(learnt.members, truth.group_of[object_], object_, since_s)
    join(learnt.members, truth.group_of[object_], object_)
    for update in range(first, seen):
        learnt.last_s[object_] = truth.updates_s[update]
        add_update(truth, learnt, object_, update)
    fold(learnt, owner)


def learn_all(truth: Truth, learnt: LearntColumns, times_s: FloatArray, object_ids: IdArray) -> None:
    """Learn from contacts, in order of time."""
    for i in range(len(times_s)):
        learn(truth, learnt, object_ids[i], times_s[i])


def report_all(truth: Truth, learnt: LearntColumns, object_ids: IdArray, since_s: float, t: float) -> None:
    """Report the updates of several objects, as `report` does for one."""
    for object_ in object_ids:
        report(truth, learnt, object_, since_s, t)
