"""The complete histories of the requested objects and their groups, as arrays."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

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
        return cls(packed, NO_UPDATES, history_of, alone, np.ones(1, dtype=np.int64), origin_s)

    def grouped(self, updates: Updates, requests: Requests, grouping: Grouping) -> Self:
        """Return these histories with groups of all objects that were updated or requested."""
        codes: dict[str, int] = {}
        of_updates = _group_codes(updates.objects, grouping, codes)
        of_requests = _group_codes(requests.objects, grouping, codes)
        only_asked = of_requests[requests.is_requested() & (self.history_of == len(updates.objects))]
        members = np.bincount(of_updates, minlength=len(codes)) + np.bincount(only_asked, minlength=len(codes))
        packed = Packed.of(updates.times_s, of_updates[updates.object_ids], len(codes))
        return self._replace(groups=packed, group_of=of_requests, members=members)


NO_UPDATES = Packed.of(np.empty(0), np.empty(0, dtype=np.int32), 1)
"""The updates of a single owner without updates."""


def _group_codes(objects: tuple[str, ...], grouping: Grouping, codes: dict[str, int]) -> IdArray:
    """Return the group number of each object; new groups are added to `codes`."""
    if grouping is Grouping.ALL:
        codes[""] = 0
        return np.zeros(len(objects), dtype=np.int32)
    names = (codes.setdefault(grouping.group_of(name), len(codes)) for name in objects)
    return np.fromiter(names, dtype=np.int32, count=len(objects))
