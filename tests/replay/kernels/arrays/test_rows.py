import numpy as np
import pytest

from bestbefore.replay.kernels.arrays.rows import LINE_BYTES, in_rows, prefetch


@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_columns_keep_what_is_in_them(n: int) -> None:
    columns = np.arange(n) / 3, np.arange(n, dtype=np.uint8), np.arange(24 * n, dtype=np.int32).reshape(n, 24)
    copies = in_rows(*columns)
    for column, copy in zip(columns, copies, strict=True):
        assert (copy.dtype, copy.shape) == (column.dtype, (max(n, 2), *column.shape[1:]))
        assert np.array_equal(copy[:n], column)
        assert copy.flags.aligned
        assert not np.shares_memory(copy, column)


def test_a_column_is_written_to_alone() -> None:
    a, b = in_rows(np.zeros(3), np.zeros(3))
    a[1] = 7.0
    assert (a.tolist(), b.tolist()) == ([0.0, 7.0, 0.0], [0.0, 0.0, 0.0])


@pytest.mark.parametrize(("fields", "row_bytes"), [(1, 8), (2, 16), (3, 32), (8, 64), (9, 128)])
def test_a_row_does_not_lie_in_more_lines_than_it_must(fields: int, row_bytes: int) -> None:
    columns = in_rows(*(np.zeros(10) for _ in range(fields)))
    assert {column.strides for column in columns} == {(row_bytes,)}
    first, last = columns[0].ctypes.data, columns[-1].ctypes.data + 7
    for row in range(10):
        lines = (last + row * row_bytes) // LINE_BYTES - (first + row * row_bytes) // LINE_BYTES + 1
        assert lines == max(row_bytes // LINE_BYTES, 1)


def test_uncompiled_nothing_is_loaded() -> None:
    prefetch([], 5)
