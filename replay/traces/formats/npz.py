"""Traces as NumPy archives: our columnar form without a further dependency.

One array for each column. A column of names is three: `object` with the number of each row's name (-1: none),
`object.names` with all names as UTF-8, end to end, and `object.ends` with where each ends. An archive made by hand may
hold the names themselves instead, as an array of text or of whole numbers. Nothing in it is pickled.

A column that is large and not compressed is mapped, so that a trace may be larger than memory.
"""

import os
from collections.abc import Callable, Sequence
from gzip import GzipFile
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipInfo

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.traces.columns.columnar import NUMBERS, TEXTS, TIME, Table, Text, checked, named, require_columns
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.opening import OpenTrace
from bestbefore.replay.traces.skipped import printable, shortened

ZIP_MAGIC = b"PK\x03\x04"
ZIP_HEADER_BYTES = 30
"""Those of a member before its name, which end with the lengths of the name and of what follows it (APPNOTE 4.3.7)."""
MAPPED_BYTES = 1 << 30
"""From this size on a column is mapped. A smaller one is read whole, and its checksum with it."""

Column = Callable[[str], NDArray[Any]]
"""The array of this name."""


def read_table(source: OpenTrace, required: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """The columns asked for. Raises TraceError."""
    if not source.head().startswith(ZIP_MAGIC):  # numpy would take it for a pickle
        raise TraceError(f"{source.path}: not an archive of columns: expected one that np.savez has made")
    try:
        with np.load(source.seekable(), allow_pickle=False) as arrays:
            require_columns(source.path, required, arrays)
            wanted = [column for column in (*required, *optional) if column in arrays]
            members = {info.filename.removesuffix(".npy"): info for info in arrays.zip.infolist()}

            def column(name: str) -> NDArray[Any]:
                member = members[name]
                array: NDArray[Any] = _mapped(source, member) if _is_large(source, member) else arrays[name]
                return array

            table = Table(
                column(TIME),
                {name: _text(column, name, named_apart=f"{name}.names" in arrays) for name in TEXTS if name in wanted},
                {name: column(name) for name in NUMBERS if name in wanted},
            )
    except TraceError:
        raise
    except Exception as error:  # whatever numpy and zipfile raise of bytes that are no archive
        if "allow_pickle" in str(error):
            expected = "expected text (as `astype(str)` makes it) or numbers"
            raise TraceError(f"{source.path}: a column holds Python objects: {expected}") from None
        why = printable(shortened(" ".join(str(error).split())))
        raise TraceError(f"{source.path}: not an archive of columns: {why}") from None
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


def _is_large(source: OpenTrace, member: ZipInfo) -> bool:
    """Whether it can be mapped, and should be."""
    is_plain = member.compress_type == ZIP_STORED and not isinstance(source.file, GzipFile) and source.file.seekable()
    return is_plain and member.file_size >= MAPPED_BYTES


def _mapped(source: OpenTrace, member: ZipInfo) -> NDArray[Any]:
    """The array of a member that is stored as it is."""
    with source.path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(ZIP_HEADER_BYTES)
        file.seek(sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28)), os.SEEK_CUR)
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        return np.asarray(np.memmap(file, dtype, "r", file.tell(), shape))


def _text(column: Column, name: str, *, named_apart: bool) -> Text:
    if not named_apart:
        return named(column(name))
    raw = column(f"{name}.names").astype(np.uint8, casting="safe").tobytes()
    ends = column(f"{name}.ends").tolist()
    return Text(column(name), tuple(raw[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)))
