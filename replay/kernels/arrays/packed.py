"""The updates of many owners, objects or groups, as arrays that a kernel can search."""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray
from bestbefore.replay.traces.columns.columns import IdArray

ROWS = 1 << 19
"""The rows of totals that there may be (96 bytes each) before they are less than one for each update."""
SPARSE_STRIDE = 16
"""At most so many updates are between two rows, however many rows that makes."""
UPDATES_PER_SLOT = 4
"""On average. What remains after a look at the slot is a search among so many."""


class Packed(NamedTuple):
    """The updates of owner i are those from `firsts[i]` up to `firsts[i + 1]`, ascending.

    The updates by hour bin from the a-th up to the b-th are found without a walk through them, as the difference of two
    rows of `totals`. Where owners have many updates, rows are by the hour: each owner has one for each hour from
    `day_s` on and one for the end, and what follows a row, up to the next, is all in one bin. Else they are by the
    update, and where those are sparse what follows a row is walked through.

    The time from `start_s` to the last update is cut, for each owner, into as many equal slots as its updates ask for:
    those of owner i are from `slot_firsts[i]` up to `slot_firsts[i + 1]`, and it has `slots_per_s[i]` of them a second.
    """

    times_s: FloatArray
    """(n + 1,) infinity follows the last."""
    firsts: NDArray[np.int64]
    """(owners + 1,)"""
    totals: NDArray[np.int32]
    """(rows, 24) the updates by hour bin before the first of each row."""
    stride: int
    """How many updates apart the rows are; 0 where they are by the hour."""
    bins: NDArray[np.uint8]
    """The hour bin of each update, filled up to as many as `stride` for each row; empty where rows are by the hour."""
    hours: int
    """How many hours each owner has, where rows are by the hour."""
    hour_firsts: NDArray[np.int64]
    """(rows,) the first update of the owner in or after the hour; empty where rows are by the update."""
    day_s: float
    """The midnight before the first update of all; infinity if there is none."""
    slots: NDArray[np.int64]
    """(slots + 1,) the first update in or after each."""
    slot_firsts: NDArray[np.int64]
    """(owners + 1,)"""
    slots_per_s: FloatArray
    """(owners,)"""
    start_s: float
    """The time of the first update of all; infinity if there is none."""

    @classmethod
    def of(cls, times_s: FloatArray, owners: IdArray, n_owners: int, stride: int | None = None) -> Self:
        """Pack updates in order of time, each with the number of its owner, less than `n_owners`.

        `stride` is chosen by how much memory the rows take, unless it is given.
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
