"""The real changes of objects, as arrays from which a kernel learns what contacts show."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import BINS, HOUR_S, FloatArray
from bestbefore.replay.kernels.arrays.tallies import Tallies
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import IdArray, Updates


class Truth(NamedTuple):
    """The updates of objects. Those that have any are owners of updates, and one more is for all that have none."""

    updates_s: FloatArray
    """(n,) by owner, ascending."""
    firsts: NDArray[np.int64]
    """(owners + 1,) the first update of each."""
    owner_of: IdArray
    """(objects,)"""
    group_of: IdArray
    """(objects,)"""
    hour_of: NDArray[np.int64]
    """(n,) the number of the hour of each update among those in which a member of its group changed."""
    hours: FloatArray
    """(hours,) since the epoch, whole numbers; by group, ascending."""
    hour_firsts: NDArray[np.int64]
    """(groups + 1,) the first hour of each group."""

    @classmethod
    def of(cls, updates: Updates, objects: Sequence[str], grouping: Grouping) -> Self:
        """Make the truth of objects, among which are all that were updated."""
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
        # Numbered, as the hours themselves times the groups may be too much for a number where times are not seconds.
        hours, number = np.unique(np.floor(updates_s / HOUR_S), return_inverse=True)
        span = max(len(hours), 1)
        found, hour_of = np.unique(group_of_owner[updates.object_ids[order]] * span + number, return_inverse=True)
        return cls(
            updates_s,
            _firsts(updates.object_ids, without + 1),
            owner_of,
            group_of,
            hour_of,
            hours[found % span],
            _firsts(found // span, len(groups)),
        )

    def nothing_in_hours(self) -> Tallies:
        """The hours of groups, in none of which anything is known to have happened."""
        nothing = np.zeros(len(self.hours), dtype=np.int32)
        bins, starts_s = (self.hours % BINS).astype(np.uint8), self.hours * HOUR_S
        return Tallies(starts_s, bins, nothing, self.hour_firsts, self.hour_firsts[1:].copy())

    def nothing_learnt(self) -> Tallies:
        """Room for the updates of owners, none of which is known."""
        n = len(self.updates_s)
        bins, amounts = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.int32)
        return Tallies(np.zeros(n), bins, amounts, self.firsts, self.firsts[:-1].copy())


def _firsts(owners: NDArray[np.integer], n_owners: int) -> NDArray[np.int64]:
    """(n_owners + 1,) the first of each owner's things, if they are sorted by owner."""
    firsts = np.zeros(n_owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=n_owners), out=firsts[1:])
    return firsts
