"""The updates of many owners, objects or groups, as arrays with indices for searches and counts."""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray
from bestbefore.replay.traces.columns.columns import IdArray

ROWS = 1 << 19
"""The number of rows of totals (96 bytes each) above which there is not one for each update."""
SPARSE_STRIDE = 16
"""The most updates between two rows, for any number of rows."""
UPDATES_PER_SLOT = 4
"""The mean number of updates in a time slot, among which a search remains after the look-up of the slot."""


class Packed(NamedTuple):
    """The updates of owner i are those from `firsts[i]` up to `firsts[i + 1]`, ascending.

    The counts by hour bin of the updates from the a-th up to the b-th are the difference of two rows of `totals`. If
    owners have many updates, there is a row for each owner and hour from `day_s` on, and one for the end; the updates
    between two rows are in one bin. Otherwise there is a row for every `stride` updates, and the updates after a row
    are counted one by one.

    The time from `start_s` to the last update is divided for each owner into equal slots, in proportion to its updates:
    owner i has the slots from `slot_firsts[i]` up to `slot_firsts[i + 1]`, `slots_per_s[i]` of them a second.
    """

    times_s: FloatArray
    """(n + 1,) the times of all updates by owner, then infinity."""
    firsts: NDArray[np.int64]
    """(owners + 1,) the first update of each owner, then n."""
    totals: NDArray[np.int32]
    """(rows, 24) the updates by hour bin before the first of each row."""
    stride: int
    """The number of updates between two rows; 0 with rows by hour."""
    bins: NDArray[np.uint8]
    """The hour bin of each update, padded to a multiple of `stride`; empty with rows by hour."""
    hours: int
    """The number of hours of each owner with rows by hour."""
    hour_firsts: NDArray[np.int64]
    """(rows,) the first update of the owner in or after the hour; empty unless rows are by hour."""
    day_s: float
    """The midnight before the earliest update; infinity if there is none."""
    slots: NDArray[np.int64]
    """(slots + 1,) the first update in or after each slot."""
    slot_firsts: NDArray[np.int64]
    """(owners + 1,) the first slot of each owner."""
    slots_per_s: FloatArray
    """(owners,) the number of slots a second."""
    start_s: float
    """The time of the earliest update; infinity if there is none."""

    @classmethod
    def of(cls, times_s: FloatArray, owners: IdArray, n_owners: int, stride: int | None = None) -> Self:
        """Pack updates in order of time; `owners` are numbers below `n_owners`.

        By default `stride` is chosen by the memory of the rows.
        """
        day_s = float(times_s[0] // DAY_S * DAY_S) if len(times_s) else math.inf
        hours = int((times_s[-1] - day_s) // HOUR_S) + 1 if len(times_s) else 0
        if stride is None:
            stride = 1
            while stride * ROWS < len(times_s) and stride < SPARSE_STRIDE:
                stride *= 2
            if n_owners * (hours + 1) <= len(times_s) // SPARSE_STRIDE:
                stride = 0
        sorted_s = np.full(len(times_s) + 1, math.inf)
        sorted_s[:-1] = times_s[owners.argsort(kind="stable")]
        firsts = np.zeros(n_owners + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=n_owners), out=firsts[1:])
        rows = _rows_by_update(sorted_s[:-1], stride) if stride else _rows_by_hour(sorted_s[:-1], firsts, day_s, hours)
        return cls(sorted_s, firsts, *rows, day_s, *_slots(sorted_s[:-1], firsts))


type Rows = tuple[NDArray[np.int32], int, NDArray[np.uint8], int, NDArray[np.int64]]
"""`totals` and the four fields after it."""


def _rows_by_update(times_s: FloatArray, stride: int) -> Rows:
    totals = np.zeros((len(times_s) // stride + 1, BINS), dtype=np.int32)
    bins = np.zeros(len(totals) * stride, dtype=np.uint8)
    bins[: len(times_s)] = times_s % DAY_S // HOUR_S
    whole = bins[: (len(totals) - 1) * stride].reshape(-1, stride)
    for k in range(BINS):
        np.cumsum((whole == k).sum(axis=1), out=totals[1:, k])
    return totals, stride, bins, 0, np.empty(0, dtype=np.int64)


def _rows_by_hour(times_s: FloatArray, firsts: NDArray[np.int64], day_s: float, hours: int) -> Rows:
    owner = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    row = owner * (hours + 1) + ((times_s - day_s) // HOUR_S).astype(np.int64)
    updates = np.bincount(row, minlength=(len(firsts) - 1) * (hours + 1))
    hour_firsts = np.zeros(len(updates), dtype=np.int64)
    np.cumsum(updates[:-1], out=hour_firsts[1:])
    totals = np.zeros((len(updates), BINS), dtype=np.int32)
    bins = np.arange(len(updates)) % (hours + 1) % BINS
    totals[1:][np.arange(len(updates) - 1), bins[:-1]] = updates[:-1]
    np.cumsum(totals, axis=0, out=totals)
    return totals, 0, np.empty(0, dtype=np.uint8), hours, hour_firsts


def _slots(
    times_s: FloatArray, firsts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray, float]:
    """The last four fields of `Packed`."""
    start_s, end_s = times_s.min(initial=math.inf), times_s.max(initial=-math.inf)
    updates = np.diff(firsts)
    slots = updates // UPDATES_PER_SLOT + 1
    slots_per_s = slots / max(end_s - start_s, 1.0)
    slot_firsts = np.zeros(len(firsts), dtype=np.int64)
    np.cumsum(slots, out=slot_firsts[1:])
    slot = ((times_s - start_s) * np.repeat(slots_per_s, updates)).astype(np.int64)
    slot += np.repeat(slot_firsts[:-1], updates)
    np.minimum(slot, np.repeat(slot_firsts[1:] - 1, updates), out=slot)
    slots = np.zeros(slot_firsts[-1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(slot, minlength=len(slots) - 1), out=slots[1:])
    return slots, slot_firsts, slots_per_s, float(start_s)
