"""The complete histories of the requested objects and their groups, as arrays."""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestbefore.policies.models.group import level
from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.units import FloatArray
from bestbefore.replay.kernels.arrays.memories import no_demand, no_memories, remember
from bestbefore.replay.kernels.arrays.packed import Packed
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import IdArray, Requests, Updates


class PackedHistories(NamedTuple):
    """The complete history of each requested object and of its group, all observed since one origin."""

    objects: Packed
    groups: Packed
    history_of: IdArray
    """(requested objects,) the owner in `objects` of the object's updates."""
    group_of: IdArray
    """(requested objects,) the owner in `groups` of its group's updates."""
    members: NDArray[np.int64]
    """(groups,) the number of objects in each group."""
    since_s: float
    """t_0 of all objects."""
    memories: FloatArray
    """(updates + owners, fields) the memories of objects, see `memories.remember`; empty if no policy reads them."""
    levels: NDArray[np.int64]
    """(updates of groups + 1,) the sum of the steps of `group.level` before each update of `groups`; or empty."""
    asked: FloatArray
    """(streams, fields) the demand before the replay, see `earlier_demand`; empty if no policy reads it."""
    weekends: NDArray[np.int64]
    """(updates of groups + 1,) the number of updates at weekends before each update of `groups`; or empty."""

    @classmethod
    def of(cls, updates: Updates, requests: Requests, origin_s: float) -> Self:
        """Make histories without groups, for policies that read no group features; `updates` begin at the origin."""
        codes = {name: code for code, name in enumerate(updates.objects)}
        without = len(codes)
        history_of = np.fromiter(
            (codes.get(name, without) for name in requests.objects), dtype=np.int32, count=len(requests.objects)
        )
        packed = Packed.of(updates.times_s, updates.object_ids, without + 1)
        alone = np.zeros(len(history_of), dtype=np.int32)
        members, none = np.ones(1, dtype=np.int64), np.empty(0, dtype=np.int64)
        return cls(packed, NO_UPDATES, history_of, alone, members, origin_s, no_memories(0), none, no_demand(0), none)

    def grouped(self, updates: Updates, requests: Requests, grouping: Grouping) -> Self:
        """Return these histories with groups of all objects that were updated or requested."""
        codes: dict[str, int] = {}
        of_updates = _group_codes(updates.objects, grouping, codes)
        of_requests = _group_codes(requests.objects, grouping, codes)
        only_asked = of_requests[requests.is_requested() & (self.history_of == len(updates.objects))]
        members = np.bincount(of_updates, minlength=len(codes)) + np.bincount(only_asked, minlength=len(codes))
        packed = Packed.of(updates.times_s, of_updates[updates.object_ids], len(codes))
        return self._replace(groups=packed, group_of=of_requests, members=members)

    def remembering(self, updates: Updates, grouping: Grouping, fill: Callable[..., None] = remember) -> Self:
        """Return these histories, which are grouped, with the rates of groups and memories; `fill` is `remember`."""
        objects = self.objects
        by_object = updates.object_ids.argsort(kind="stable")
        number = np.empty(len(updates), dtype=np.int64)
        number[by_object] = np.arange(len(updates)) - objects.firsts[updates.object_ids[by_object]]
        steps = np.diff([level(n) for n in range(int(np.diff(objects.firsts).max(initial=0)) + 1)])
        by_group = _group_codes(updates.objects, grouping, {})[updates.object_ids].argsort(kind="stable")
        at_weekend = [is_weekend(t) for t in self.groups.times_s[:-1].tolist()]
        memories = no_memories(len(updates) + len(objects.firsts) - 1)
        fill(memories, objects.times_s, objects.firsts, self.since_s)
        return self._replace(
            memories=memories,
            levels=_before_each(steps[number[by_group]]),
            weekends=_before_each(at_weekend),
        )


NO_UPDATES = Packed.of(np.empty(0), np.empty(0, dtype=np.int32), 1)
"""The updates of a single owner without updates."""


def _before_each(amounts: ArrayLike) -> NDArray[np.int64]:
    """(n + 1,) the sum of the amounts before each of n, and of all."""
    return np.concatenate(([0], np.cumsum(amounts, dtype=np.int64)))


def _group_codes(objects: tuple[str, ...], grouping: Grouping, codes: dict[str, int]) -> IdArray:
    """Return the group number of each object; new groups are added to `codes`."""
    if grouping is Grouping.ALL:
        codes[""] = 0
        return np.zeros(len(objects), dtype=np.int32)
    names = (codes.setdefault(grouping.group_of(name), len(codes)) for name in objects)
    return np.fromiter(names, dtype=np.int32, count=len(objects))
