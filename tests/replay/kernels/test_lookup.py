import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.kernels import lookup
from bestbefore.replay.kernels.arrays import packed as packed_updates
from bestbefore.replay.kernels.arrays.packed import Packed

TIMES_S = np.array([0.0, 3600.0, 3700.0, 7200.0, 86400.0])
OWNERS = np.array([2, 0, 2, 0, 2], dtype=np.int32)


def test_the_updates_of_each_owner_lie_together_in_order_of_time() -> None:
    packed = Packed.of(TIMES_S, OWNERS, 4)
    own = [packed.times_s[slice(*lookup.updates_of(packed, owner))].tolist() for owner in range(4)]
    assert own == [[3600.0, 7200.0], [], [0.0, 3700.0, 86400.0], []]
    assert packed.times_s[-1] == math.inf


@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 60).map(lambda n: n * 3600.0), st.floats(7e4, 2e5)),
                       st.integers(0, 2)), min_size=1, max_size=60),
    st.lists(st.floats(0.0, 3e5), max_size=5),
    st.sampled_from([0, 1, 2, 3, 16]),
)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_updates_are_counted_by_bin_whether_rows_are_by_the_hour_or_by_the_update(
    updates: list[tuple[float, int]], more_s: list[float], stride: int
) -> None:
    updates.sort()
    packed = Packed.of(np.array([t for t, _ in updates]), np.array([i for _, i in updates], dtype=np.int32), 3, stride)
    moments_s = sorted([*more_s, *(t for t, _ in updates), *(math.nextafter(t, 0.0) for t, _ in updates)])
    counts = np.empty(24, dtype=np.int64)
    for owner in range(3):
        first, last = lookup.updates_of(packed, owner)
        own_s = packed.times_s[first:last]
        for since_s in moments_s:
            start = first + int(own_s.searchsorted(since_s, side="right"))
            ends = np.maximum(start, first + own_s.searchsorted(moments_s, side="right"))
            until_s = np.maximum(since_s, moments_s)
            for i in range(len(ends)):
                expected = np.bincount((packed.times_s[start : ends[i]] % 86400 // 3600).astype(int), minlength=24)
                lookup.set_counts(counts, packed, owner, start, since_s, int(ends[i]), float(until_s[i]))
                assert counts.tolist() == expected.tolist()


def test_rows_are_by_the_hour_where_that_takes_less_room() -> None:
    times_s = np.sort(np.random.default_rng(1).uniform(0.0, 86400.0, 2000))
    one, many = np.zeros(2000, dtype=np.int32), np.arange(2000, dtype=np.int32)
    assert (Packed.of(times_s, one, 1).stride, Packed.of(times_s, many, 2000).stride) == (0, 1)


@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 9).map(float), st.floats(0.0, 1e6)), st.integers(0, 3)), max_size=60),
    st.lists(st.floats(0.0, 2e6), max_size=5),
    st.integers(1, 4),
)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_an_owners_first_update_after_a_moment_is_found_by_its_slot(
    updates: list[tuple[float, int]], more_s: list[float], per_slot: int
) -> None:
    updates.sort()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_updates, "UPDATES_PER_SLOT", per_slot)
        packed = Packed.of(np.array([t for t, _ in updates]), np.array([i for _, i in updates], dtype=np.int32), 4)
    moments_s = np.array([-math.inf, *more_s, *(t for t, _ in updates), *(math.nextafter(t, 0.0) for t, _ in updates)])
    for owner in range(4):
        first, last = lookup.updates_of(packed, owner)
        expected = [first + int(packed.times_s[first:last].searchsorted(t, side="right")) for t in moments_s]
        assert [lookup.first_of_owner_after(packed, owner, t) for t in moments_s.tolist()] == expected


@pytest.mark.parametrize("side", ["left", "right"])
@given(st.integers(0, 400), st.integers(1, 60), st.data())
@settings(max_examples=60, derandomize=True, deadline=None)
def test_what_lies_near_and_what_lies_far_is_found(
    side: Literal["left", "right"], n: int, most: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    times_s = np.sort(rng.integers(0, most, n)).astype(np.float64)
    start, end = np.sort(rng.integers(0, n + 1, (2, 50)), axis=0)
    t = rng.integers(-1, most + 1, 50).astype(np.float64)
    rows = list(zip(start.tolist(), end.tolist(), t.tolist(), strict=True))
    expected = [first + int(times_s[first:last].searchsorted(moment, side=side)) for first, last, moment in rows]
    found_by = [lookup.first_at_or_after] if side == "left" else [lookup.first_after, lookup.first_after_near_end]
    for found in found_by:
        assert [found(times_s, *row) for row in rows] == expected
