"""The updates of many owners, objects or groups, as arrays that a kernel can search."""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import BINS, DAY_S, HOUR_S, FloatArray
from bestbefore.replay.traces.columns import IdArray

DENSE_UPDATES = 1 << 20
"""Up to so many updates each has its row of totals (96 bytes); of more, one in `SPARSE_STRIDE` has."""
SPARSE_STRIDE = 16


class Packed(NamedTuple):
    """The updates of owner i are those from `firsts[i]` up to `firsts[i + 1]`, ascending.

    The updates by hour bin from the a-th up to the b-th are found without a walk through them, as the difference of two
    rows of `totals`; where those are sparse, after a walk from a to the row before it, and the same for b.
    """

    times_s: FloatArray
    """(n + 1,) infinity follows the last."""
    firsts: NDArray[np.int64]
    """(owners + 1,)"""
    bins: NDArray[np.uint8]
    """(n,) the hour bin of each."""
    totals: NDArray[np.int32]
    """(n // stride + 1, 24) the updates by hour bin among the first i * stride of all owners'."""
    stride: int

    @classmethod
    def of(cls, times_s: FloatArray, owners: IdArray, n_owners: int, stride: int | None = None) -> Self:
        """From updates in order of time, each with the number of its owner, less than `n_owners`."""
        if stride is None:
            stride = 1 if len(times_s) <= DENSE_UPDATES else SPARSE_STRIDE
        sorted_s = np.full(len(times_s) + 1, math.inf)
        sorted_s[:-1] = times_s[owners.argsort(kind="stable")]
        firsts = np.zeros(n_owners + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=n_owners), out=firsts[1:])
        bins = (sorted_s[:-1] % DAY_S // HOUR_S).astype(np.uint8)
        totals = np.zeros((len(times_s) // stride + 1, BINS), dtype=np.int32)
        whole = bins[: (len(totals) - 1) * stride].reshape(-1, stride)
        for k in range(BINS):
            np.cumsum((whole == k).sum(axis=1), out=totals[1:, k])
        return cls(sorted_s, firsts, bins, totals, stride)
