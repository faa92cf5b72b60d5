import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.kernels.arrays import stream_codes
from bestbefore.replay.kernels.arrays.stream_codes import codes_of, sort_with_places
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests


@pytest.mark.parametrize(("cache", "expected"), [(Cache.CLIENT, [5, 0, 2]), (Cache.SHARED, [2, 0, 1])])
def test_requests_have_one_number_for_each_object_and_cache(cache: Cache, expected: list[int]) -> None:
    clients, objects = np.array([1, 0, 0], dtype=np.int32), np.array([2, 0, 1], dtype=np.int32)
    requests = Requests.of(np.arange(3.0), clients, objects, ("x", "y"), ("a", "b", "c"))
    assert codes_of(requests, cache, slice(None)).tolist() == expected
    assert codes_of(requests, cache, np.array([2, 0])).tolist() == [expected[2], expected[0]]


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(1, 6))
@settings(max_examples=60, derandomize=True)
def test_codes_are_sorted_with_their_places(given_codes: list[int], chunk: int) -> None:
    codes = np.array(given_codes, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_codes, "ROWS_AT_ONCE", chunk)
        bits = sort_with_places(codes)
    assert bits is not None
    pairs = [(both >> bits, both & ((1 << bits) - 1)) for both in codes.tolist()]
    assert pairs == sorted((code, place) for place, code in enumerate(given_codes))


def test_codes_that_leave_no_room_for_their_places_stay_as_they_are() -> None:
    codes = np.array([1 << 61, 3, 7], dtype=np.int64)  # 62 bits, and 2 for the places
    assert sort_with_places(codes) is None
    assert codes.tolist() == [1 << 61, 3, 7]
    assert sort_with_places(codes[1:]) == 1
