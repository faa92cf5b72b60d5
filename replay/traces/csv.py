"""Traces as CSV, plain or gzip: `object,time` for updates, `time,client,object` for requests.

The first line is a header; columns may stand in any order, and others beside them are passed over. Ids are any UTF-8
text. Files are read row by row into columns, so that memory holds numbers and each name once.
"""

import csv
import gzip
import math
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

import numpy as np

from bestbefore.policies.models.history import FloatArray
from bestbefore.replay.traces.columns import IdArray, Requests, Updates
from bestbefore.replay.traces.errors import TraceError

GZIP_MAGIC = b"\x1f\x8b"
SHOWN_CHARACTERS = 80
"""How much of a wrong value a message shows."""

Warn = Callable[[str], None]


def read_updates(path: Path, warn: Warn) -> Updates:
    """The updates in a file.

    Raises TraceError. Calls `warn` with one line if the file was out of order.
    """
    times_s, (objects,) = _read(path, ["object", "time"], warn)
    return Updates.of(times_s, objects.ids, objects.names)


def read_requests(path: Path, warn: Warn) -> Requests:
    """The requests in a file.

    Raises TraceError. Calls `warn` with one line if the file was out of order.
    """
    times_s, (clients, objects) = _read(path, ["time", "client", "object"], warn)
    return Requests.of(times_s, clients.ids, objects.ids, clients.names, objects.names)


class _NameColumn:
    """A column of text that is read: each name once, and a number for each row."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._codes: dict[str, int] = {}
        self._rows = array("i")

    def append(self, name: str) -> None:
        code = self._codes.get(name)
        if code is None:
            if not name.isascii():
                _check_utf8(self.column, name)
            code = self._codes[name] = len(self._codes)
        self._rows.append(code)

    @property
    def ids(self) -> IdArray:
        return np.array(self._rows, dtype=np.int32)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._codes)


def _read(path: Path, columns: Sequence[str], warn: Warn) -> tuple[FloatArray, list[_NameColumn]]:
    """The column `time` and the others, in the order of `columns`."""
    times = array("d")
    names = [_NameColumn(column) for column in columns if column != "time"]
    with _rows_of(path) as rows:
        header = [column.strip() for column in next(rows, [])]
        missing = [column for column in columns if column not in header]
        if missing:
            given = f"no column {missing[0]!r} in {_shortened(','.join(header))!r}" if header else "no header"
            raise ValueError(f"{given}: expected {','.join(columns)}")
        time_at = header.index("time")
        places = [(column, header.index(column.column)) for column in names]
        for row in rows:
            if len(row) != len(header):
                if not row:
                    continue
                given = _shortened(",".join(row))
                raise ValueError(f"{len(row)} fields, {given!r}: expected {len(header)}, {','.join(header)}")
            times.append(_time(row[time_at]))
            for column, at in places:
                column.append(row[at])
    times_s = np.array(times, dtype=np.float64)
    if np.any(np.diff(times_s) < 0.0):
        warn(f"{path}: out of order, sorted by time")
    return times_s, names


@contextmanager
def _rows_of(path: Path) -> Iterator[Iterator[list[str]]]:
    """The rows of a file. What is wrong with the file, or found wrong in the rows (a ValueError), is a TraceError."""
    rows = None
    try:
        with path.open("rb") as raw:
            zipped = raw.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            # Bytes that are no UTF-8 go through, to be found where they matter, with their line.
            with (
                gzip.open(raw) if zipped else raw as content,
                TextIOWrapper(content, encoding="utf-8-sig", errors="surrogateescape", newline="") as text,
            ):
                rows = csv.reader(text, strict=True)
                yield rows
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TraceError(f"{path}: the gzip data are damaged or cut short: {error}") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None
    except (ValueError, csv.Error) as error:
        line = max(rows.line_num, 1) if rows else 1
        wrong = f"not CSV: {error}" if isinstance(error, csv.Error) else str(error)
        raise TraceError(f"{path}: line {line}: {wrong}") from None


def _time(text: str) -> float:
    try:
        time_s = math.nan if "_" in text else float(text)  # which takes 1_000 for a number
    except ValueError:
        time_s = math.nan
    if not 0.0 <= time_s < math.inf:
        raise ValueError(f"time {_shortened(text)!r}: expected a number of Unix seconds, finite and 0 or more")
    return time_s


def _check_utf8(column: str, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        given = _shortened(name).encode(errors="surrogateescape")
        raise ValueError(f"{column} {given!r}: expected UTF-8 text") from None


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."
