import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.kernels import packed as packed_updates
from bestbefore.replay.kernels import walk
from bestbefore.replay.kernels.expiries import first_of_owner_after
from bestbefore.replay.kernels.packed import Packed

TIMES_S = np.array([0.0, 3600.0, 3700.0, 7200.0, 86400.0])
OWNERS = np.array([2, 0, 2, 0, 2], dtype=np.int32)


def test_the_updates_of_each_owner_lie_together_in_order_of_time() -> None:
    packed = Packed.of(TIMES_S, OWNERS, 4)
    own = [packed.times_s[slice(*walk.updates_of(packed, owner))].tolist() for owner in range(4)]
    assert own == [[3600.0, 7200.0], [], [0.0, 3700.0, 86400.0], []]
    assert packed.times_s[-1] == math.inf


@pytest.mark.parametrize("stride", [1, 2, 3, 16])
def test_updates_are_counted_by_bin_whether_totals_are_dense_or_sparse(stride: int) -> None:
    packed = Packed.of(TIMES_S, OWNERS, 4, stride)
    for start in range(6):
        for end in range(start, 6):
            expected = np.bincount(packed.bins[start:end], minlength=24).tolist()
            counts = np.empty(24, dtype=np.int64)
            walk.set_counts(counts, packed, start, end)
            assert counts.tolist() == expected


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
        first, last = walk.updates_of(packed, owner)
        expected = [first + int(packed.times_s[first:last].searchsorted(t, side="right")) for t in moments_s]
        owners = np.full(len(moments_s), owner, dtype=np.int32)
        assert first_of_owner_after(packed, owners, moments_s).tolist() == expected
        assert [walk.first_of_owner_after(packed, owner, t) for t in moments_s.tolist()] == expected
