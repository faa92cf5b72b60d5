"""The reader and writer of traces as NumPy archives, the native columnar form without a further dependency.

An archive has one array for each column. A column of names has three: `object` with the id of each row (-1: none),
`object.names` with all names as concatenated UTF-8, and `object.ends` with the end of each name. An archive made by
other programs may have one array of names instead, text or whole numbers. Pickled arrays are refused.

Large uncompressed columns are memory-mapped, so that a trace may be larger than memory.
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
"""The fixed part of a member's local header; it ends with the lengths of name and extra field (APPNOTE 4.3.7)."""
MAPPED_BYTES = 1 << 30
"""The least size of a column that is mapped. A smaller one is read whole, with a check of its checksum."""

Column = Callable[[str], NDArray[Any]]
"""Returns the array of this name."""


def read_table(source: OpenTrace, required: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Read the required and optional columns. Raises TraceError."""
    if not source.head().startswith(ZIP_MAGIC):  # numpy would treat it as a pickle
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
    except Exception as error:  # numpy and zipfile raise many types for invalid archives
        if "allow_pickle" in str(error):
            expected = "expected text (as `astype(str)` makes it) or numbers"
            raise TraceError(f"{source.path}: a column holds Python objects: {expected}") from None
        why = printable(shortened(" ".join(str(error).split())))
        raise TraceError(f"{source.path}: not an archive of columns: {why}") from None
    return checked(source.path, table)


def write_table(file: BinaryIO, table: Table) -> None:
    """Write a table in the order of its rows, uncompressed for speed."""
    columns: dict[str, NDArray[Any]] = {TIME: table.times_s, **table.numbers}
    for column, text in table.texts.items():
        encoded = [name.encode() for name in text.names]
        columns[column] = text.ids
        columns[f"{column}.names"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        columns[f"{column}.ends"] = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    np.savez(file, allow_pickle=False, **columns)


def looks_like_npz(head: bytes) -> bool:
    """Whether the content is a zip archive whose first member is an array."""
    return head.startswith(ZIP_MAGIC) and b".npy" in head[:512]


def _is_large(source: OpenTrace, member: ZipInfo) -> bool:
    """Whether a member can be mapped, and is large enough for it."""
    is_plain = member.compress_type == ZIP_STORED and not isinstance(source.file, GzipFile) and source.file.seekable()
    return is_plain and member.file_size >= MAPPED_BYTES


def _mapped(source: OpenTrace, member: ZipInfo) -> NDArray[Any]:
    """Map the array of an uncompressed member."""
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
