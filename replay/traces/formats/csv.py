"""The reader and writer of traces as CSV: `object,time` for updates, `time,client,object` and more for requests.

The first line is a header; columns may be in any order, and other columns are ignored. Ids are any UTF-8 text. Files
are read row by row into columns, so that memory holds numbers and each distinct name once.
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

from bestbefore.replay.traces.columns.columnar import LARGEST, NUMBERS, OPTIONAL_TEXTS, TEXTS, TIME, Table, Text
from bestbefore.replay.traces.columns.names import NO_NAME, NameColumn
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.opening import OpenTrace
from bestbefore.replay.traces.skipped import shortened

ROWS_AT_ONCE = 65536
LONGEST_LINE = 1 << 22
"""The most characters of a line; a longer one, such as a binary file, is cut and refused by the parser."""


def read_table(source: OpenTrace, required: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Read the required and optional columns. Raises TraceError, also for a missing value in a row."""
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
    """Write a table in the order of its rows."""
    columns = [TIME, *(c for c in TEXTS if c in table.texts), *table.numbers]
    with TextIOWrapper(file, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for start in range(0, len(table.times_s), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            writer.writerows(zip(*(_texts(table, column, part) for column in columns), strict=True))


def write_zipped_table(file: BinaryIO, table: Table) -> None:
    """Write a table as gzip, without the time of writing, so that equal traces give equal files."""
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
        write_table(zipped, table)  # type: ignore[arg-type]


def looks_like_csv(head: bytes) -> bool:
    """Whether the first line is a header with the columns `object` and `time`."""
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
    """Return the function that checks the text of a field of this column and appends it. It raises ValueError."""
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
    """Open a CSV file; yield its header, which has the required columns, and an iterator over rows of its length.

    Errors of csv, and a ValueError raised in the context, become a TraceError with the line number.
    """
    rows = None
    try:
        # Invalid UTF-8 is kept as surrogates here, and reported by `check_utf8` with its line, in used columns.
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
    """Yield the non-empty rows. Raises ValueError for a row of another length than the header."""
    for row in rows:
        if len(row) == len(header):
            yield row
        elif row:
            given = shortened(",".join(row))
            raise ValueError(f"{len(row)} fields, {given!r}: expected {len(header)} as in the header")


def _time(text: str) -> float:
    try:
        time_s = math.nan if "_" in text else float(text)  # float accepts 1_000
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
    """Raise ValueError if a name contains surrogates, which stand for invalid UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        given = shortened(name).encode(errors="surrogateescape")
        raise ValueError(f"{column} {given!r}: expected UTF-8 text") from None
