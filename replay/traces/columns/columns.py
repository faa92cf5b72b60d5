"""A recorded trace in memory: columns of times and ids, with the names of the ids.

Units: times are Unix seconds (UTC, float64), ascending; ids are indices into tuples of names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray

IdArray = NDArray[np.int32]

ROWS_AT_ONCE = 1 << 20
"""The rows processed at a time, as columns may be mapped from a file larger than memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Updates:
    """The updates of objects, ordered by time; an object has at most one update at a time."""

    times_s: FloatArray
    object_ids: IdArray
    objects: tuple[str, ...]

    @classmethod
    def of(cls, times_s: FloatArray, object_ids: IdArray, objects: tuple[str, ...]) -> Self:
        """Make updates from rows in any order, with or without repetitions."""
        order = np.lexsort((object_ids, times_s))
        times, ids = times_s[order], object_ids[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(times) != 0.0) | (np.diff(ids) != 0)
        return cls(times[new], ids[new], objects)

    def __len__(self) -> int:
        return len(self.times_s)

    def since(self, t: float) -> "Updates":
        """Return those at or after t."""
        first = int(self.times_s.searchsorted(t, side="left"))
        return Updates(self.times_s[first:], self.object_ids[first:], self.objects)

    def until(self, t: float) -> "Updates":
        """Return those at or before t."""
        end = int(self.times_s.searchsorted(t, side="right"))
        return Updates(self.times_s[:end], self.object_ids[:end], self.objects)

    def rows(self) -> Iterator[tuple[float, str]]:
        """(time, object) in order of time."""
        return zip(self.times_s.tolist(), _named(self.object_ids, self.objects), strict=True)

    def times_by_object(self) -> dict[str, FloatArray]:
        """The times of each object that has updates, ascending."""
        order = self.object_ids.argsort(kind="stable")
        ids, firsts = np.unique(self.object_ids[order], return_index=True)
        starts = firsts.tolist()
        times = self.times_s[order]
        ends = [*starts[1:], len(times)]
        return {self.objects[i]: times[a:b] for i, a, b in zip(ids.tolist(), starts, ends, strict=False)}


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """The requests of clients for objects, ordered by time; requests at the same time keep their order."""

    times_s: FloatArray
    client_ids: IdArray
    object_ids: IdArray
    clients: tuple[str, ...]
    objects: tuple[str, ...]

    @classmethod
    def of(
        cls,
        times_s: FloatArray,
        client_ids: IdArray,
        object_ids: IdArray,
        clients: tuple[str, ...],
        objects: tuple[str, ...],
    ) -> Self:
        """Make requests from rows in any order."""
        if is_in_order(times_s):  # the usual case, without a copy of the columns
            return cls(times_s, client_ids, object_ids, clients, objects)
        order = times_s.argsort(kind="stable")
        return cls(times_s[order], client_ids[order], object_ids[order], clients, objects)

    def __len__(self) -> int:
        return len(self.times_s)

    def since(self, t: float) -> "Requests":
        """Return those at or after t."""
        return self._only(slice(int(self.times_s.searchsorted(t, side="left")), None))

    def before(self, t: float) -> "Requests":
        """Return those earlier than t."""
        return self._only(slice(0, int(self.times_s.searchsorted(t, side="left"))))

    def _only(self, kept: slice) -> "Requests":
        return Requests(self.times_s[kept], self.client_ids[kept], self.object_ids[kept], self.clients, self.objects)

    def rows(self) -> Iterator[tuple[float, str, str]]:
        """(time, client, object) in order of time."""
        clients, objects = _named(self.client_ids, self.clients), _named(self.object_ids, self.objects)
        return zip(self.times_s.tolist(), clients, objects, strict=True)

    def requested(self) -> frozenset[str]:
        """The names of the requested objects."""
        return frozenset(self.objects[i] for i in np.flatnonzero(self.is_requested()).tolist())

    def is_requested(self) -> NDArray[np.bool_]:
        """(objects,) whether each object is requested."""
        return occurring(self.object_ids, len(self.objects))


def occurring(ids: IdArray, n: int) -> NDArray[np.bool_]:
    """(n,) whether each of the ids 0 to n-1 occurs."""
    found = np.zeros(n, dtype=bool)
    for start in range(0, len(ids), ROWS_AT_ONCE):
        found[ids[start : start + ROWS_AT_ONCE]] = True
    return found


def is_in_order(times_s: FloatArray) -> bool:
    """Whether the times ascend."""
    parts = (times_s[start : start + ROWS_AT_ONCE + 1] for start in range(0, len(times_s), ROWS_AT_ONCE))
    return all(bool((part[1:] >= part[:-1]).all()) for part in parts)


def _named(ids: IdArray, names: tuple[str, ...]) -> Iterator[str]:
    return map(names.__getitem__, ids.tolist())
