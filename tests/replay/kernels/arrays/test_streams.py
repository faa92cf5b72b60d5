import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.kernels.arrays import stream_codes, streams
from bestbefore.replay.kernels.arrays.streams import Streams
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests

Rows = list[tuple[int, int, int]]
"""Time, client and object."""


def requests_of(rows: Rows, objects: int = 4) -> Requests:
    columns = [np.array([row[k] for row in sorted(rows, key=lambda row: row[0])]) for k in range(3)]
    return Requests.of(
        columns[0].astype(np.float64), columns[1].astype(np.int32), columns[2].astype(np.int32), ("x", "y"),
        tuple(map(str, range(objects))),
    )


def listed(made: Streams) -> list[tuple[int, list[float]]]:
    """The object and the times of each stream."""
    ends = made.firsts.tolist()
    return [
        (object_, made.times_s[first:end].tolist())
        for object_, first, end in zip(made.object_ids.tolist(), ends, ends[1:], strict=False)
    ]


def test_requests_for_one_object_in_one_cache_are_a_stream_in_order_of_time() -> None:
    rows = [(1, 0, 2), (2, 1, 0), (3, 0, 0), (4, 1, 0), (5, 1, 2)]
    shared = Streams.of(requests_of(rows), Cache.SHARED)
    assert listed(shared) == [(0, [2.0, 3.0, 4.0]), (2, [1.0, 5.0])]
    each = Streams.of(requests_of(rows), Cache.CLIENT)
    assert listed(each) == [(0, [3.0]), (0, [2.0, 4.0]), (2, [1.0]), (2, [5.0])]


def test_without_requests_there_are_no_streams() -> None:
    made = Streams.of(requests_of([]), Cache.CLIENT)
    assert (len(made), made.firsts.tolist(), made.shares(5, 5)) == (0, [0], [])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=40),
    st.sampled_from(Cache), st.integers(1, 30), st.booleans(), st.integers(1, 5),
)
@settings(max_examples=60, derandomize=True)
def test_streams_are_the_same_in_memory_on_disk_and_where_keys_do_not_fit(
    rows: Rows, cache: Cache, at_once: int, wide: bool, chunk: int
) -> None:
    requests = requests_of(rows)
    expected = listed(Streams.of(requests, cache))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "ROWS_AT_ONCE", chunk)
        patch.setattr(stream_codes, "ROWS_AT_ONCE", chunk)
        if wide:
            patch.setattr(stream_codes, "CODE_BITS", 0)
        assert listed(Streams.of(requests, cache, requests_at_once=at_once)) == expected


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 12), st.integers(1, 5))
@settings(max_examples=40, derandomize=True)
def test_shares_cover_all_streams_and_are_as_even_as_streams_allow(
    lengths: list[int], parts: int, streams_each: int
) -> None:
    rows = [(t, 0, object_) for object_, n in enumerate(lengths) for t in range(n)]
    shares = Streams.of(requests_of(rows, len(lengths)), Cache.SHARED).shares(parts, streams_each)
    assert [begin for begin, _ in shares] == [0, *(end for _, end in shares[:-1])]
    assert shares[-1][1] == len(lengths)
    assert all(end - begin <= streams_each for begin, end in shares)
    assert all(sum(lengths[begin : end - 1]) < sum(lengths) / parts + max(lengths) for begin, end in shares)
