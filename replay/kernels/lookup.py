"""Searches and counts in arrays of times: plain loops, which `compiled` compiles unchanged."""

from collections.abc import MutableSequence

from bestbefore.policies.units import BINS, HOUR_S, FloatArray
from bestbefore.replay.kernels.arrays.packed import Packed


def updates_of(packed: Packed, owner: int) -> tuple[int, int]:
    """The indices of an owner's first update, and of the first update of the next owner."""
    return packed.firsts[owner], packed.firsts[owner + 1]


def set_counts(
    counts: MutableSequence[int], packed: Packed, owner: int, start: int, since_s: float, end: int, until_s: float
) -> None:
    """Set counts[k] to the number of an owner's updates in hour bin k, from index `start` up to `end`.

    `since_s` and `until_s` are times that enclose exactly these updates.
    """
    if packed.stride == 0:
        row, end_row = row_of_hour(packed, owner, since_s), row_of_hour(packed, owner, until_s)
    else:
        row, end_row = start // packed.stride, end // packed.stride
    for k in range(BINS):
        counts[k] = packed.totals[end_row, k] - packed.totals[row, k]
    if packed.stride == 0:
        first_row = owner * (packed.hours + 1)
        counts[(end_row - first_row) % BINS] += end - packed.hour_firsts[end_row]
        counts[(row - first_row) % BINS] -= start - packed.hour_firsts[row]
    else:
        for i in range(end_row * packed.stride, end):
            counts[packed.bins[i]] += 1
        for i in range(row * packed.stride, start):
            counts[packed.bins[i]] -= 1


def row_of_hour(packed: Packed, owner: int, t: float) -> int:
    """The owner's row for the hour of t; its first row before all hours, and its last after them."""
    row = owner * (packed.hours + 1)
    if t < packed.day_s:
        return row
    passed_s = t - packed.day_s
    hour = int(passed_s / HOUR_S)
    if hour * HOUR_S > passed_s:  # the quotient had been rounded up
        hour -= 1
    return row + min(hour, packed.hours)


def first_of_owner_after(packed: Packed, owner: int, t: float) -> int:
    """The index of an owner's first update after t; that of the next owner's first if there is none."""
    if t < packed.start_s:
        return updates_of(packed, owner)[0]
    slot = packed.slot_firsts[owner] + int((t - packed.start_s) * packed.slots_per_s[owner])
    slot = min(slot, packed.slot_firsts[owner + 1] - 1)
    return first_after(packed.times_s, packed.slots[slot], packed.slots[slot + 1], t)


def first_at_or_after(times_s: FloatArray, start: int, end: int, t: float) -> int:
    """The index of the first of `times_s[start:end]`, ascending, that is t or more; `end` if there is none.

    The cost is logarithmic in the distance from `start` (exponential search).
    """
    if start == end or times_s[end - 1] < t:
        return end
    step = 1
    while start + step < end and times_s[start + step - 1] < t:
        start += step
        step *= 2
    end = min(end, start + step)
    while start < end:
        middle = (start + end) // 2
        if times_s[middle] < t:
            start = middle + 1
        else:
            end = middle
    return start


def first_after(times_s: FloatArray, start: int, end: int, t: float) -> int:
    """The index of the first of `times_s[start:end]` that is more than t; its cost grows as `first_at_or_after`'s."""
    step = 1
    while start + step < end and times_s[start + step - 1] <= t:
        start += step
        step *= 2
    end = min(end, start + step)
    while start < end:
        middle = (start + end) // 2
        if times_s[middle] <= t:
            start = middle + 1
        else:
            end = middle
    return start


def first_after_near_end(times_s: FloatArray, start: int, end: int, t: float) -> int:
    """As `first_after`, with a cost that is logarithmic in the distance from `end`."""
    step = 1
    while end - step > start and times_s[end - step] > t:
        end -= step
        step *= 2
    start = max(start, end - step)
    while start < end:
        middle = (start + end) // 2
        if times_s[middle] <= t:
            start = middle + 1
        else:
            end = middle
    return start
