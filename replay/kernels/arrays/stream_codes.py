"""Codes for the streams of requests (object and cache), and the sorting of requests by them."""

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import ROWS_AT_ONCE, Requests

CODE_BITS = 63
"""The bits of a non-negative int64."""


def number_of_caches(requests: Requests, cache: Cache) -> int:
    """Return the number of caches, at least one."""
    return max(len(requests.clients), 1) if cache is Cache.CLIENT else 1


def codes_of(requests: Requests, cache: Cache, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
    """(n,) the codes object * caches + cache of the requests in these rows."""
    codes: NDArray[np.int64] = requests.object_ids[rows].astype(np.int64)
    if cache is Cache.CLIENT:
        codes *= number_of_caches(requests, cache)
        codes += requests.client_ids[rows]
    return codes


def sort_with_places(codes: NDArray[np.int64]) -> int | None:
    """Sort non-negative codes in place, each with its index in the low bits of the same number; return these bits.

    This is faster than argsort and needs no further memory. None if code and index do not fit into one number; then the
    codes are unchanged.
    """
    place_bits = max(len(codes) - 1, 0).bit_length()
    if int(codes.max(initial=0)).bit_length() + place_bits > CODE_BITS:
        return None
    for start in range(0, len(codes), ROWS_AT_ONCE):
        rows = codes[start : start + ROWS_AT_ONCE]
        rows <<= place_bits
        rows |= np.arange(start, start + len(rows))
    codes.sort()
    return place_bits
