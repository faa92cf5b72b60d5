import math

import numpy as np
import pytest

from bestbefore.replay.kernels.packed import Packed
from bestbefore.replay.kernels.walk import count_by_bin, updates_of

TIMES_S = np.array([0.0, 3600.0, 3700.0, 7200.0, 86400.0])
OWNERS = np.array([2, 0, 2, 0, 2], dtype=np.int32)


def test_the_updates_of_each_owner_lie_together_in_order_of_time() -> None:
    packed = Packed.of(TIMES_S, OWNERS, 4)
    own = [packed.times_s[slice(*updates_of(packed, owner))].tolist() for owner in range(4)]
    assert own == [[3600.0, 7200.0], [], [0.0, 3700.0, 86400.0], []]
    assert packed.times_s[-1] == math.inf


@pytest.mark.parametrize("stride", [1, 2, 3, 16])
def test_updates_are_counted_by_bin_whether_totals_are_dense_or_sparse(stride: int) -> None:
    packed = Packed.of(TIMES_S, OWNERS, 4, stride)
    for start in range(6):
        for end in range(start, 6):
            expected = np.bincount(packed.bins[start:end], minlength=24).tolist()
            assert count_by_bin(packed, start, end).tolist() == expected
