import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.kernels.arrays import stream_codes
from bestbefore.replay.kernels.arrays import stream_ids as module
from bestbefore.replay.kernels.arrays.stream_ids import stream_ids
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.columns import Requests

rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=50)


def requests(asked: list[tuple[int, int]]) -> Requests:
    objects, clients = (np.array([row[k] for row in asked], dtype=np.int32) for k in (0, 1))
    return Requests.of(np.arange(float(len(asked))), clients, objects, tuple("wxyz"), tuple("abcde"))


@pytest.mark.parametrize("code_bits", [63, 0])
@given(rows)
@settings(max_examples=60, derandomize=True)
def test_each_object_in_each_cache_has_a_number_of_its_own(code_bits: int, asked: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_codes, "CODE_BITS", code_bits)
        patch.setattr(module, "ROWS_AT_ONCE", 7)
        patch.setattr(stream_codes, "ROWS_AT_ONCE", 7)
        ids, n = stream_ids(requests(asked), Cache.CLIENT)
    numbers = {row: number for number, row in enumerate(sorted(set(asked)))}
    assert ids.tolist() == [numbers[row] for row in asked]
    assert (ids.dtype, n) == (np.int32, len(numbers))


def test_a_shared_cache_has_one_stream_for_each_object() -> None:
    asked = requests([(3, 0), (0, 1), (3, 2)])
    ids, n = stream_ids(asked, Cache.SHARED)
    assert (ids.tolist(), n) == ([3, 0, 3], 5)
