import numba
import numpy as np
import pytest

from bestbefore.replay.kernels.arrays.rows import in_rows, prefetch
from bestbefore.replay.kernels.prefetching import make_prefetch_compilable

make_prefetch_compilable()


@pytest.mark.parametrize("columns", [(np.arange(100.0),), in_rows(np.arange(100.0), np.arange(100, dtype=np.uint8))])
def test_the_processor_is_asked_to_load_whatever_the_place_and_nothing_changes(columns: tuple[np.ndarray, ...]) -> None:
    @numba.njit
    def load(column: np.ndarray, place: int) -> float:
        prefetch(column, place)
        return column[3]

    for column in columns:
        assert [load(column, place) for place in (0, 99, 100, 10**12, -5)] == [3.0] * 5
    assert "prefetcht0" in next(iter(load.inspect_asm().values()))
