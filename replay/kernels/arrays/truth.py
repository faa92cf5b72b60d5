"""The true updates of objects, as arrays from which a kernel derives the observations of contacts."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.replay.kernels.arrays.tallies import Tallies
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import IdArray, Updates


class Truth(NamedTuple):
    """The true updates. Each object with updates is an owner; one further owner stands for all objects without any."""

    updates_s: FloatArray
    """(n,) the times by owner, ascending for each."""
    firsts: NDArray[np.int64]
    """(owners + 1,) the first update of each owner."""
    owner_of: IdArray
    """(objects,) the owner of each object's updates."""
    group_of: IdArray
    """(objects,) the group of each object."""
    group_firsts: NDArray[np.int64]
    """(groups + 1,) the number of updates of the groups before each."""

    @classmethod
    def of(cls, updates: Updates, objects: Sequence[str], grouping: Grouping) -> Self:
        """Make the truth of `objects`, which must include all updated objects."""
        codes = {name: code for code, name in enumerate(updates.objects)}
        without = len(codes)
        owner_of = np.fromiter((codes.get(name, without) for name in objects), dtype=np.int32, count=len(objects))
        groups: dict[str, int] = {}
        names = (groups.setdefault(grouping.group_of(name), len(groups)) for name in objects)
        group_of = np.fromiter(names, dtype=np.int32, count=len(objects))
        order = updates.object_ids.argsort(kind="stable")
        updates_s = updates.times_s[order]
        group_of_owner = np.zeros(without + 1, dtype=np.int64)
        group_of_owner[owner_of] = group_of
        return cls(
            updates_s,
            _firsts(updates.object_ids, without + 1),
            owner_of,
            group_of,
            _firsts(group_of_owner[updates.object_ids], len(groups)),
        )

    def nothing_in_hours(self) -> Tallies:
        """Make empty tallies with a place for each update of each group, as each may lie in another hour."""
        return Tallies.empty(self.group_firsts)

    def nothing_learnt(self) -> Tallies:
        """Make empty tallies with a place for each update of each owner."""
        return Tallies.empty(self.firsts)


def _firsts(owners: NDArray[np.integer], n_owners: int) -> NDArray[np.int64]:
    """(n_owners + 1,) the index of the first element of each owner in an array sorted by owner."""
    firsts = np.zeros(n_owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=n_owners), out=firsts[1:])
    return firsts
