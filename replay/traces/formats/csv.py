"""Traces as CSV: `object,time` for updates, `time,client,object` and perhaps more for requests.

The first line is a header; columns may stand in any order, and others beside them are ignored. Ids are any UTF-8
text. Files are read row by row into columns, so that memory holds numbers and each name once.
"""

import csv
import gzip
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from typing import BinaryIO

import numpy as np

from bestbefore.replay.traces.columns.columnar import (
    LARGEST,
    NUMBERS,
    OPTIONAL_TEXTS,
    TEXTS,
    TIME,
    Table,
    Text,
)
from bestbefore.replay.traces.columns.names import NO_NAME, NameColumn
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.opening import OpenTrace
from bestbefore.replay.traces.skipped import shortened

Warn = Callable[[str], None]
ROWS_AT_ONCE = 65536
LONGEST_LINE = 1 << 22
"""Characters: longer ones, such as a whole file that is no text, go to the parser in pieces, which it refuses."""


def read_table(source: OpenTrace, required: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """The columns asked for. Raises TraceError, also where an optional one is missing in a row."""
    with rows_of(source, required) as (header, rows):
        wanted = [column for column in (*required, *optional) if column in header]
        times = array("d")
        numbers = {column: array("q") for column in NUMBERS if column in wanted}
        texts = {column: NameColumn() for column in TEXTS if column in wanted}
        fillers = [(header.index(column), _filler(column, times, numbers, texts)) for column in wanted]
        for row in rows:
            for at, fill in fillers:
                fill(row[at])
    return Table(
        np.asarray(times, dtype=np.float64),
        {column: Text(names.ids, names.names) for column, names in texts.items()},
        {column: np.asarray(values, dtype=np.int64) for column, values in numbers.items()},
    )


def write_table(file: BinaryIO, table: Table) -> None:
    """Write a table, its rows in their order."""
    columns = [TIME, *(c for c in TEXTS if c in table.texts), *table.numbers]
    with TextIOWrapper(file, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for start in range(0, len(table.times_s), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            writer.writerows(zip(*(_texts(table, column, part) for column in columns), strict=True))


def write_zipped_table(file: BinaryIO, table: Table) -> None:
    """The same as gzip, without the time of writing, so that equal traces are equal files."""
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
        write_table(zipped, table)  # type: ignore[arg-type]


def looks_like_csv(head: bytes) -> bool:
    """Return whether the first line is a header of our CSV format."""
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return {b"object", b"time"} <= {column.strip(b' "\r') for column in first.split(b",")}


def _texts(table: Table, column: str, part: slice) -> Iterable[str | int]:
    if column == TIME:
        return [int(t) if t.is_integer() else t for t in table.times_s[part].tolist()]
    if column in table.numbers:
        return ["" if n == UNKNOWN else n for n in table.numbers[column][part].tolist()]
    text = table.texts[column]
    return ["" if i == NO_NAME else text.names[i] for i in text.ids[part].tolist()]


def _filler(
    column: str, times: "array[float]", numbers: "dict[str, array[int]]", texts: dict[str, NameColumn]
) -> Callable[[str], None]:
    """Return the function that checks the text of one field and keeps it. Raises ValueError."""
    if column == TIME:
        return lambda text: times.append(_time(text))
    if column in numbers:
        return lambda text: numbers[column].append(_whole_number(column, text))
    names = texts[column]

    def keep(name: str) -> None:
        if not name.isascii() and name not in names:
            check_utf8(column, name)
        names.append(name)

    def keep_or_leave_out(name: str) -> None:
        if name:
            keep(name)
        else:
            names.append(None)

    return keep_or_leave_out if column in OPTIONAL_TEXTS else keep


@contextmanager
def rows_of(source: OpenTrace, required: Sequence[str]) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header of a file, which names these columns, and its rows, each as long.

    What is found wrong in the rows, here or where they are read (a ValueError), is a TraceError that names the line.
    """
    rows = None
    try:
        # Bytes that are no UTF-8 go through, to be found where they matter, with their line.
        with TextIOWrapper(source.file, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            rows = csv.reader(iter(partial(text.readline, LONGEST_LINE), ""), strict=True)
            header = [column.strip() for column in next(rows, [])]
            missing = [column for column in required if column not in header]
            if missing:
                given = f"no column {missing[0]!r} in {shortened(','.join(header))!r}" if header else "no header"
                raise ValueError(f"{given}: expected {','.join(required)}")  # noqa: TRY301
            yield header, _of_length(rows, header)
    except (ValueError, csv.Error) as error:
        line = max(rows.line_num, 1) if rows else 1
        wrong = f"not CSV: {error}" if isinstance(error, csv.Error) else str(error)
        raise TraceError(f"{source.path}: line {line}: {wrong}") from None


def _of_length(rows: Iterator[list[str]], header: list[str]) -> Iterator[list[str]]:
    """The rows that are not empty. Raises ValueError for one of another length."""
    for row in rows:
        if len(row) == len(header):
            yield row
        elif row:
            given = shortened(",".join(row))
            raise ValueError(f"{len(row)} fields, {given!r}: expected {len(header)} as in the header")


def _time(text: str) -> float:
    try:
        time_s = math.nan if "_" in text else float(text)  # which takes 1_000 for a number
    except ValueError:
        time_s = math.nan
    if not 0.0 <= time_s < math.inf:
        raise ValueError(f"time {shortened(text)!r}: expected a number of Unix seconds, finite and 0 or more")
    return time_s


def _whole_number(column: str, text: str) -> int:
    if not text:
        return UNKNOWN
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else UNKNOWN
    if not 0 <= number <= LARGEST[column]:
        raise ValueError(f"{column} {shortened(text)!r}: expected a whole number up to {LARGEST[column]} or nothing")
    return number


def check_utf8(column: str, name: str) -> None:
    """Raise ValueError if bytes that are no UTF-8 went through."""
    try:
        name.encode()
    except UnicodeEncodeError:
        given = shortened(name).encode(errors="surrogateescape")
        raise ValueError(f"{column} {given!r}: expected UTF-8 text") from None
