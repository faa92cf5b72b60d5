"""The demand of copies at the test start, from the requests before it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.replay.kernels.arrays.memories import count_requests, no_demand
from bestbefore.replay.kernels.arrays.stream_codes import codes_of
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests


def earlier_demand(
    earlier: Requests | None,
    cache: Cache,
    stream_codes: NDArray[np.int64],
    count: Callable[..., None] = count_requests,
) -> FloatArray:
    """(streams, fields) the demand as rows of `memories`; `stream_codes` (streams,) ascend.

    `count` is `count_requests`, compiled or not. Requests for copies that are not requested in the replay are left out.
    """
    rows = no_demand(len(stream_codes))
    if earlier is not None and len(earlier) and len(stream_codes):
        codes = codes_of(earlier, cache, slice(None))
        places = np.minimum(stream_codes.searchsorted(codes), len(stream_codes) - 1)
        known = np.flatnonzero(stream_codes[places] == codes)
        count(rows, places[known], earlier.times_s[known])
    return rows
