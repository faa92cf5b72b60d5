"""The reader of the rows of a small CSV file with a header, with the line number in each error."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.opening import open_plainly, open_trace
from bestbefore.replay.traces.skipped import shortened


def rows_of[Value](
    path: Path, required: tuple[str, ...], optional: tuple[str, ...], read: Callable[[Mapping[str, str]], Value]
) -> Iterator[Value]:
    """Yield what `read` makes of each row, a mapping of all these columns to text, empty where there is none.

    Raises TraceError, with the line, for a missing column, a row of another length and a ValueError of `read`.
    """
    with open_trace(path, open_plainly) as source, TextIOWrapper(source.file, encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            header = _header(next(reader, []), required)
            nothing = dict.fromkeys(optional, "")
            for row in reader:
                yield read(nothing | _by_column(header, row))
        except (csv.Error, ValueError) as error:
            raise TraceError(f"{path}: line {max(reader.line_num, 1)}: {error}") from None


def _header(row: Sequence[str], required: tuple[str, ...]) -> list[str]:
    header = [column.strip() for column in row]
    missing = [column for column in required if column not in header]
    if missing:
        raise ValueError(f"no column {missing[0]!r} in {shortened(','.join(header))!r}")
    return header


def _by_column(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    if len(row) != len(header):
        raise ValueError(f"{len(row)} fields, expected {len(header)} as in the header")
    return {name: field.strip() for name, field in zip(header, row, strict=True)}


def seconds(row: Mapping[str, str], column: str) -> float:
    """Return a finite number of seconds. Raises ValueError."""
    try:
        found = float(row[column])
    except ValueError:
        found = float("nan")
    if not abs(found) < float("inf"):
        raise ValueError(f"{column} {shortened(row[column])!r}: expected a number of seconds")
    return found
