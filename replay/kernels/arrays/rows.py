"""Columns stored row by row, so that values that are used together share a cache line."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE_BYTES = 64
"""The size of a cache line."""


def in_rows(*columns: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return copies of columns of equal length, interleaved in memory: views of one array of rows.

    The size of a row is a power of two, and the first is aligned, so that a row spans no more cache lines than it must.
    There are two rows at least: columns of one row are contiguous, which is another type for numba, and the loops would
    be compiled again for each combination of types.
    """
    names = [str(i) for i in range(len(columns))]
    formats = [(column.dtype, column.shape[1:]) for column in columns]
    packed = np.dtype(list(zip(names, formats, strict=True)), align=True)
    assert packed.fields is not None
    row = np.dtype({
        "names": names,
        "formats": formats,
        "offsets": [packed.fields[name][1] for name in names],
        "itemsize": 1 << (packed.itemsize - 1).bit_length(),
    })
    size = max(len(columns[0]), 2) * row.itemsize
    memory = np.zeros(size + LINE_BYTES, dtype=np.uint8)
    start = -memory.ctypes.data % LINE_BYTES
    rows = memory[start : start + size].view(row)
    for name, column in zip(names, columns, strict=True):
        rows[name][: len(column)] = column
    return tuple(rows[name] for name in names)


def prefetch(column: Sequence[Any] | NDArray[Any], place: int) -> None:
    """Start to load column[place] into the processor's cache, if compiled. Any place is allowed."""
