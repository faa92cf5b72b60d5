"""The observation of contacts in arrays, equivalent to `addon.engine.learning` for the contacts of a trace.

The live code handles validators, lists and feeds of origins, and observations in any order. Here contacts are in order
of time, and each shows whether there were updates and the time of the last one. Compiled unchanged by `compiled`.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.engine.learning import DETAILED_UPDATES
from bestbefore.policies.models.hazard.memory import (
    UpdateMemory,
    memory_at_first_contact,
    memory_since,
    updated_at,
    updated_within,
)
from bestbefore.policies.models.member_rates import log_interval_micronats
from bestbefore.policies.units import HOUR_S, FloatArray
from bestbefore.policies.validation.machinery.control import mean_rate_per_s
from bestbefore.replay.kernels.arrays.membership import Membership, join, meet
from bestbefore.replay.kernels.arrays.memories import memory_in, no_memories, set_memory
from bestbefore.replay.kernels.arrays.rows import in_rows
from bestbefore.replay.kernels.arrays.tallies import Tallies, Window, count_in, insert
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.lookup import first_after, first_after_near_end
from bestbefore.replay.traces.columns.columns import IdArray

NEVER_S = -math.inf
"""The time of an event that has not happened."""


class LearntColumns(NamedTuple):
    """What is learnt of each object and of each group, as columns.

    Those of objects lie in memory row by row, and so do those of owners: a contact loads what it needs in few lines.
    """

    since_s: FloatArray
    """(objects,) t_0: the first contact."""
    contact_s: FloatArray
    """(objects,) the last contact."""
    last_s: FloatArray
    """(objects,) u_n: the last update that was learnt, or that the first contact found to lie before it."""
    seen: NDArray[np.int64]
    """(objects,) the first update of `Truth` after the last contact."""
    next_s: FloatArray
    """(objects,) when that will be, infinite if there is none; `NEVER_S` before the first contact."""
    end: NDArray[np.int64]
    """(objects,) the first update of `Truth` after all of the object's."""
    owner_of: IdArray
    """(objects,) as in `Truth`; so is `group_of`."""
    group_of: IdArray
    joined: NDArray[np.uint8]
    """(objects,) 1 for a member of its group."""
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
    memories: FloatArray
    """(owners, fields) the memory of their updates; without any, `updates` is 0 and the row means nothing."""
    intervals: NDArray[np.int64]
    """(objects,) `log_interval_micronats` of each member at its last contact; negative for others."""
    rates: NDArray[np.int64]
    """(groups, 2) the number of members, and the sum of their `intervals`."""
    tells_times: bool
    """Whether a contact shows when the last update was."""
    counts: bool
    """Whether updates are counted, beyond knowing the last."""
    counts_groups: bool
    remembers: bool
    """Whether `memories`, `intervals` and `rates` are kept."""

    @classmethod
    def nothing(cls, truth: Truth, *, tells_times: bool = True) -> Self:
        """Return the state before any contact."""
        n, owner_of = len(truth.owner_of), truth.owner_of
        never_s, joined = np.full(n, NEVER_S), np.zeros(n, dtype=np.uint8)
        updates, hours = truth.nothing_learnt(), truth.nothing_in_hours()
        nothing = cls(
            never_s, never_s, never_s, truth.firsts[owner_of], never_s, truth.firsts[owner_of + 1], owner_of,
            truth.group_of, joined, updates, DETAILED_UPDATES, updates.firsts[:-1], Window.of(updates), hours,
            Window.of(hours), Membership.of(truth.group_of, len(hours.ends)), no_memories(len(updates.ends)),
            np.full(n, -1), np.zeros((len(hours.ends), 2), dtype=np.int64), tells_times, counts=True,
            counts_groups=True, remembers=True,
        )
        return nothing.copy(counts=True, counts_groups=True, remembers=True)

    def copy(self, *, counts: bool, counts_groups: bool, remembers: bool) -> Self:
        """Return a copy that learns on independently, as much as its policy needs. No policy has used this one."""
        updates, hours = self.updates.copy(), self.hours.copy()
        window = Window.of(updates)
        # A row is two cache lines long: the first column lies in one, the last in the other.
        oldest, totals, weekends, ends, by_bin, folded = in_rows(
            window.oldest, window.totals, window.weekends, updates.ends, window.by_bin, self.folded
        )
        since_s, contact_s, last_s, seen, next_s, end, owner_of, group_of, joined = in_rows(
            self.since_s, self.contact_s, self.last_s, self.seen, self.next_s, self.end, self.owner_of, self.group_of,
            self.joined,
        )
        return type(self)(
            since_s, contact_s, last_s, seen, next_s, end, owner_of, group_of, joined, updates._replace(ends=ends),
            self.detailed, folded, Window(oldest, by_bin, totals, weekends), hours, Window.of(hours),
            self.members.copy(), self.memories.copy(), self.intervals.copy(), self.rates.copy(), self.tells_times,
            counts, counts_groups, remembers,
        )


def learn(truth: Truth, learnt: LearntColumns, object_: int, t: float) -> None:
    """Learn from a contact at t, not earlier than any before. As `addon.engine.learning.observe`."""
    if t <= learnt.contact_s[object_]:
        return
    before_s = learnt.contact_s[object_]
    is_first = before_s == NEVER_S
    learnt.contact_s[object_] = t
    changed = bool(learnt.next_s[object_] <= t) and see(truth, learnt, object_, t)
    if changed and learnt.tells_times:
        learnt.last_s[object_] = truth.updates_s[learnt.seen[object_] - 1]
    elif changed and not is_first:
        learnt.last_s[object_] = (before_s + t) / 2
    if is_first:
        learnt.since_s[object_] = t
        if learnt.remembers and learnt.last_s[object_] != NEVER_S and learnt.last_s[object_] < t:
            set_memory(learnt.memories, learnt.owner_of[object_], memory_at_first_contact(learnt.last_s[object_]))
    if learnt.counts_groups and not learnt.joined[object_]:
        if is_first:
            meet(learnt.members, learnt.group_of[object_], object_, t)
        else:
            join_group(learnt, object_)
    if learnt.counts and changed and not is_first:
        if learnt.remembers:
            remember_update(learnt, object_, before_s, t)
        add_update(learnt, object_, learnt.last_s[object_])
        fold(learnt, learnt.owner_of[object_])
    if learnt.remembers and learnt.joined[object_]:
        rate(learnt, object_, t)


def see(truth: Truth, learnt: LearntColumns, object_: int, t: float) -> bool:
    """Set the number of updates up to t and the next one. Returns whether there was any since the last contact."""
    before, end = learnt.seen[object_], learnt.end[object_]
    seen = first_after(truth.updates_s, before, end, t)
    learnt.seen[object_] = seen
    learnt.next_s[object_] = truth.updates_s[seen] if seen < end else math.inf
    return bool(seen > before)


def join_group(learnt: LearntColumns, object_: int) -> None:
    """Make an object a member of its group. It has been contacted before."""
    learnt.joined[object_] = 1
    join(learnt.members, learnt.group_of[object_], object_)


def add_update(learnt: LearntColumns, object_: int, update_s: float) -> None:
    """Learn an update of a member, later than those before."""
    owner = learnt.owner_of[object_]
    place = learnt.updates.ends[owner]
    insert(learnt.window, learnt.updates, owner, place, update_s)
    count_in(learnt.window, learnt.updates, owner, place)
    if learnt.counts_groups:
        count_hour(learnt.group_window, learnt.hours, learnt.group_of[object_], update_s)


def remember_update(learnt: LearntColumns, object_: int, before_s: float, t: float) -> None:
    """Set the memory after an update that a contact at t has found, after the contact before."""
    owner, update_s = learnt.owner_of[object_], learnt.last_s[object_]
    memory = memory_of(learnt, object_)
    if learnt.tells_times:
        # As in `engine.update`: a difference that is taken back may end just before the memory does.
        hidden_from_s = max(update_s - (update_s - before_s), memory.at_s)
        set_memory(learnt.memories, owner, updated_at(memory, update_s, hidden_from_s))
    else:
        set_memory(learnt.memories, owner, updated_within(memory, before_s, t))


def memory_of(learnt: LearntColumns, object_: int) -> UpdateMemory:
    """Return the memory of an object."""
    memory = memory_in(learnt.memories, learnt.owner_of[object_])
    if memory.updates > 0.0:
        return memory
    return memory_since(learnt.since_s[object_])


def updates_per_s(learnt: LearntColumns, object_: int, t: float) -> float:
    """Return the mean rate of updates of an object as of its contact at t, by which the control of a price predicts."""
    owner = learnt.owner_of[object_]
    return mean_rate_per_s(learnt.updates.ends[owner] - learnt.updates.firsts[owner], t - learnt.since_s[object_])


def rate(learnt: LearntColumns, object_: int, t: float) -> None:
    """Set the contribution of a member to the rates of its group, as of its contact at t."""
    owner, group = learnt.owner_of[object_], learnt.group_of[object_]
    updates = learnt.updates.ends[owner] - learnt.updates.firsts[owner]
    interval = log_interval_micronats(updates, t - learnt.since_s[object_])
    if learnt.intervals[object_] < 0:
        learnt.rates[group, 0] += 1
        learnt.rates[group, 1] += interval
    else:
        learnt.rates[group, 1] += interval - learnt.intervals[object_]
    learnt.intervals[object_] = interval


def count_hour(window: Window, hours: Tallies, group: int, update_s: float) -> None:
    """Count an update in its hour. Without known times it may lie long before those learnt from other members."""
    start_s = np.floor(update_s / HOUR_S) * HOUR_S
    first = hours.firsts[group]
    place = first_after_near_end(hours.times_s, first, hours.ends[group], start_s)
    if place > first and hours.times_s[place - 1] == start_s:
        place -= 1
    else:
        insert(window, hours, group, place, start_s)
    count_in(window, hours, group, place)


def fold(learnt: LearntColumns, owner: int) -> None:
    """Keep of all but the latest updates only the hours, whose starts replace the times."""
    while learnt.updates.ends[owner] - learnt.folded[owner] > learnt.detailed:
        place = learnt.folded[owner]
        learnt.updates.times_s[place] = math.floor(learnt.updates.times_s[place] / HOUR_S) * HOUR_S
        learnt.folded[owner] = place + 1


def report(truth: Truth, learnt: LearntColumns, object_: int, since_s: float, t: float) -> None:
    """Let the whole history of an object since `since_s` up to t be known. Nothing was known of it before."""
    first = learnt.seen[object_]
    learnt.since_s[object_] = since_s
    learnt.contact_s[object_] = t
    if see(truth, learnt, object_, t):
        learnt.last_s[object_] = truth.updates_s[learnt.seen[object_] - 1]
    meet(learnt.members, learnt.group_of[object_], object_, since_s)
    join_group(learnt, object_)
    for update in range(first, learnt.seen[object_]):
        update_s = truth.updates_s[update]
        if learnt.remembers:
            memory = updated_at(memory_of(learnt, object_), update_s, update_s)
            set_memory(learnt.memories, learnt.owner_of[object_], memory)
        add_update(learnt, object_, update_s)
    fold(learnt, learnt.owner_of[object_])
    if learnt.remembers:
        rate(learnt, object_, t)


def learn_all(truth: Truth, learnt: LearntColumns, times_s: FloatArray, object_ids: IdArray) -> None:
    """Learn from contacts, in order of time."""
    for i in range(len(times_s)):
        learn(truth, learnt, object_ids[i], times_s[i])


def report_all(truth: Truth, learnt: LearntColumns, object_ids: IdArray, since_s: float, t: float) -> None:
    """Report the updates of several objects, as `report` does for one."""
    for object_ in object_ids:
        report(truth, learnt, object_, since_s, t)
