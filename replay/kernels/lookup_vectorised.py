"""What is looked up in arrays of times, and counted there, for many at once: twin of `lookup`."""

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import BINS, HOUR_S, FloatArray
from bestbefore.replay.kernels.packed import Packed
from bestbefore.replay.traces.columns import IdArray

IndexArray = NDArray[np.int64]

NEAR_STEPS = (16, 8, 4, 2, 1)
"""What is sought mostly lies no further than their sum."""


def count_by_bin(
    updates: Packed, owners: IdArray, start: IndexArray, since_s: FloatArray, end: IndexArray, until_s: FloatArray
) -> NDArray[np.int32]:
    """Twin of `lookup.set_counts`."""
    if updates.stride == 0:
        row, end_row = rows_of_hour(updates, owners, since_s), rows_of_hour(updates, owners, until_s)
        counts = updates.totals[end_row] - updates.totals[row]
        first_row, here = owners * (updates.hours + 1), np.arange(len(owners))
        counts[here, (end_row - first_row) % BINS] += (end - updates.hour_firsts[end_row]).astype(np.int32)
        counts[here, (row - first_row) % BINS] -= (start - updates.hour_firsts[row]).astype(np.int32)
    else:
        counts = updates.totals[end // updates.stride] - updates.totals[start // updates.stride]
        _count_in_row(counts, updates, end, 1)
        _count_in_row(counts, updates, start, -1)
    return np.ascontiguousarray(counts.T)


def rows_of_hour(updates: Packed, owners: IdArray, t: FloatArray) -> IndexArray:
    """Twin of `lookup.row_of_hour`."""
    passed_s = np.clip(t - updates.day_s, 0.0, updates.hours * HOUR_S)
    hour = (passed_s / HOUR_S).astype(np.int64)
    hour -= hour * HOUR_S > passed_s
    return hour + owners.astype(np.int64) * (updates.hours + 1)


def _count_in_row(counts: NDArray[np.int32], updates: Packed, bound: IndexArray, sign: int) -> None:
    """Add to counts (n, 24), times the sign, the updates by hour bin from the last row of totals up to each bound."""
    here, row = np.arange(len(bound)), bound - bound % updates.stride
    for update in (row + k for k in range(updates.stride - 1)):
        counts[here, updates.bins[update]] += sign * (update < bound)


def first_after(times_s: FloatArray, start: IndexArray, end: IndexArray, t: FloatArray) -> IndexArray:
    """Twin of `lookup.first_after`."""
    return _first_not(np.less_equal, times_s, start, end, t)


def first_after_near_end(times_s: FloatArray, start: IndexArray, end: IndexArray, t: FloatArray) -> IndexArray:
    """As `first_after`, faster where it lies near the end."""
    near = np.maximum(start, end - sum(NEAR_STEPS))
    lies_before = (near > start) & (times_s[near - 1] > t)
    return first_after(times_s, np.where(lies_before, start, near), end, t)


def first_at_or_after(times_s: FloatArray, start: IndexArray, end: IndexArray, t: FloatArray) -> IndexArray:
    """Twin of `lookup.first_at_or_after`."""
    return _first_not(np.less, times_s, start, end, t)


def first_of_owner_after(updates: Packed, owners: IdArray, t: FloatArray) -> IndexArray:
    """Twin of `lookup.first_of_owner_after`."""
    found: IndexArray = updates.firsts[owners]
    asked = np.flatnonzero(t >= updates.start_s)
    owners, t = owners[asked], t[asked]
    slot = updates.slot_firsts[owners] + ((t - updates.start_s) * updates.slots_per_s[owners]).astype(np.int64)
    slot = np.minimum(slot, updates.slot_firsts[owners + 1] - 1)
    found[asked] = first_after(updates.times_s, updates.slots[slot], updates.slots[slot + 1], t)
    return found


def _first_not(
    before: np.ufunc, times_s: FloatArray, start: IndexArray, end: IndexArray, t: FloatArray
) -> IndexArray:
    """The first of each `times_s[start:end]` that does not lie before t; `end` where all do."""
    found, last = start.copy(), end - 1
    for step in NEAR_STEPS:
        probe = found + (step - 1)
        passed = before(times_s[np.minimum(probe, last)], t)
        passed &= probe < end
        found += step * passed
    far = np.flatnonzero((found - start == sum(NEAR_STEPS)) & (found < end))
    found[far] = _first_far(before, times_s, found[far], end[far], t[far])
    return found


def _first_far(before: np.ufunc, times_s: FloatArray, start: IndexArray, end: IndexArray, t: FloatArray) -> IndexArray:
    """The same, at a cost that grows with the logarithm of the distance from `start`."""
    low, high = start.copy(), end.copy()
    open_ = np.flatnonzero(low < high)
    at, stop, until_s = low[open_], high[open_], t[open_]
    step = 1
    while len(open_):
        probe = np.minimum(at + step, stop) - 1
        passed = before(times_s[probe], until_s)
        found = ~passed
        low[open_[found]], high[open_[found]] = at[found], probe[found]
        low[open_[passed]] = high[open_[passed]]
        passed &= probe + 1 < stop
        open_, at, stop, until_s = open_[passed], probe[passed] + 1, stop[passed], until_s[passed]
        step *= 2
    open_ = np.flatnonzero(low < high)
    at, stop, until_s = low[open_], high[open_], t[open_]
    while len(open_):
        middle = (at + stop) // 2
        passed = before(times_s[middle], until_s)
        at, stop = np.where(passed, middle + 1, at), np.where(passed, stop, middle)
        on = at < stop
        low[open_] = at
        open_, at, stop, until_s = open_[on], at[on], stop[on], until_s[on]
    return low
