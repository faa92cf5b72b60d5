"""A number for the stream of each request, that is for its object and cache, and how requests are sorted by it."""

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import ROWS_AT_ONCE, Requests

CODE_BITS = 63
"""Those of an int64 that is 0 or more."""


def number_of_caches(requests: Requests, cache: Cache) -> int:
    """Return the number of caches, at least one."""
    return max(len(requests.clients), 1) if cache is Cache.CLIENT else 1


def codes_of(requests: Requests, cache: Cache, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
    """(n,) object * caches + cache, for the requests in these rows."""
    codes: NDArray[np.int64] = requests.object_ids[rows].astype(np.int64)
    if cache is Cache.CLIENT:
        codes *= number_of_caches(requests, cache)
        codes += requests.client_ids[rows]
    return codes


def sort_with_places(codes: NDArray[np.int64]) -> int | None:
    """Sort codes of 0 or more, each with its place beneath it in the bits of the same number; returns how many bits.

    That is faster than finding an order, and needs no more memory. None where they do not fit into a number: then the
    codes are as they were.
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
