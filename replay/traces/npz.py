"""Traces as NumPy archives: our columnar form without a further dependency.

One array for each column. A column of names is three: `object` with the number of each row's name (-1: none),
`object.names` with all names as UTF-8, end to end, and `object.ends` with where each ends. An archive made by hand may
hold the names themselves instead, as an array of text or of whole numbers. Nothing in it is pickled.
"""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.traces.columnar import NUMBERS, TEXTS, TIME, Table, Text, checked, named, require_columns
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.opening import Source

ZIP_MAGIC = b"PK\x03\x04"


def read_table(source: Source, required: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """The columns asked for. Raises TraceError."""
    if not source.head().startswith(ZIP_MAGIC):  # numpy would take it for a pickle
        raise TraceError(f"{source.path}: not an archive of columns: expected one that np.savez has made")
    try:
        with np.load(source.seekable(), allow_pickle=False) as arrays:
            require_columns(source.path, required, arrays)
            wanted = [column for column in (*required, *optional) if column in arrays]
            table = Table(
                arrays[TIME],
                {column: _text(arrays, column) for column in TEXTS if column in wanted},
                {column: arrays[column] for column in NUMBERS if column in wanted},
            )
    except TraceError:
        raise
    except Exception as error:  # whatever numpy and zipfile raise of bytes that are no archive
        raise TraceError(f"{source.path}: not an archive of columns: {' '.join(str(error).split())}") from None
    return checked(source.path, table)


def write_table(file: BinaryIO, table: Table) -> None:
    """Write a table, its rows in their order; not compressed, so that it is read as fast as the disk is."""
    columns: dict[str, NDArray[Any]] = {TIME: table.times_s, **table.numbers}
    for column, text in table.texts.items():
        encoded = [name.encode() for name in text.names]
        columns[column] = text.ids
        columns[f"{column}.names"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        columns[f"{column}.ends"] = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    np.savez(file, allow_pickle=False, **columns)


def looks_like_npz(head: bytes) -> bool:
    """Whether it is a zip archive whose first member is an array."""
    return head.startswith(ZIP_MAGIC) and b".npy" in head[:512]


def _text(arrays: Mapping[str, NDArray[Any]], column: str) -> Text:
    if f"{column}.names" not in arrays:
        return named(arrays[column])
    raw = arrays[f"{column}.names"].astype(np.uint8, casting="safe").tobytes()
    ends = arrays[f"{column}.ends"].tolist()
    return Text(arrays[column], tuple(raw[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)))
