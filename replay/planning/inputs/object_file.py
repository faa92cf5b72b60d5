"""The reader of objects from a CSV file with the columns `id,rate` and optionally `weight,min,max,model,shape`.

The first line is a header; columns may be in any order, and other columns are ignored. Ids are any UTF-8 text. An
optional value may be empty. For speed, some thousand rows at a time are parsed column by column; if that fails, these
rows are parsed again one by one, to insert default values or to report the error.
"""

import csv
import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.ids import BETWEEN, Ids
from bestbefore.replay.planning.laws import MODELS
from bestbefore.replay.planning.objects import Law, PlannedObjects
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.csv import check_utf8
from bestbefore.replay.traces.opening import Open, open_plainly, open_trace
from bestbefore.replay.traces.skipped import shortened

REQUIRED = ("id", "rate")
OPTIONAL = ("weight", "min", "max", "model", "shape")
ROWS_AT_ONCE = 1 << 12
WITHOUT = {"weight": 1.0, "min": 0.0, "max": math.inf, "shape": math.nan}
"""The default values of optional columns."""
POISSON = "poisson"

Row = Sequence[str]


class _Reader(Protocol):
    """The interface of what `csv.reader` returns."""

    @property
    def line_num(self) -> int: ...

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some consecutive rows of a file, as columns."""

    names: str
    """The ids, joined by `BETWEEN`."""
    lines: NDArray[np.int32]
    """The line number of each row."""
    numbers: dict[str, FloatArray]
    """The numeric columns by name."""
    laws: dict[int, Law]
    """The laws by the index of the row in this part."""


def read_objects(path: Path, open_: Open = open_plainly) -> PlannedObjects:
    """Read the objects of a file, plain or gzip.

    Raises TraceError, with the line, for a missing column, an invalid value, and an id that occurs twice.
    """
    with open_trace(path, open_) as source, TextIOWrapper(
        source.file, encoding="utf-8-sig", errors="surrogateescape", newline=""
    ) as text:
        reader = csv.reader(text, strict=True)
        with _named(path, reader):
            columns = _columns(next(reader, []))
            parts = list(_parts(path, reader, columns))
    if not parts:
        raise TraceError(f"{path}: line 2: no object, expected a row {','.join(REQUIRED)} for each")
    return _objects(path, parts)


@contextmanager
def _named(path: Path, reader: _Reader) -> Iterator[None]:
    """Turn errors of csv and of the header into a TraceError with the line number."""
    try:
        yield
    except csv.Error as error:
        raise TraceError(f"{path}: line {max(reader.line_num, 1)}: not CSV: {error}") from None
    except ValueError as error:
        raise TraceError(f"{path}: line 1: {error}") from None


def _columns(header: Row) -> dict[str, int]:
    """Return the index of each column that is read; under the name '' the number of columns."""
    given = [column.strip() for column in header]
    expected = f"expected {','.join(REQUIRED)} and perhaps {','.join(OPTIONAL)}"
    if not any(given):
        raise ValueError(f"no header: {expected}")
    columns = {"": len(given)}
    for column in (*REQUIRED, *OPTIONAL):
        if given.count(column) > 1:
            raise ValueError(f"the column {column!r} twice in {shortened(','.join(given))!r}")
        if column in given:
            columns[column] = given.index(column)
        elif column in REQUIRED:
            raise ValueError(f"no column {column!r} in {shortened(','.join(given))!r}: {expected}")
    return columns


def _parts(path: Path, reader: _Reader, columns: dict[str, int]) -> Iterator[_Part]:
    while True:
        before = reader.line_num
        rows = list(islice(reader, ROWS_AT_ONCE))
        if not rows:
            return
        part = _column_by_column(rows, before, reader.line_num, columns)
        if part is None:
            part = _row_by_row(path, rows, before, columns)
        if part.lines.size:
            yield part


def _column_by_column(rows: list[list[str]], before: int, after: int, columns: dict[str, int]) -> _Part | None:
    """Parse rows fast; None if any value is missing, invalid or not ASCII."""
    if after - before != len(rows) or {"model", "shape"} & columns.keys() or set(map(len, rows)) != {columns[""]}:
        return None
    fields = list(zip(*rows, strict=True))
    names = fields[columns["id"]]
    joined = BETWEEN.join(names)
    if not joined.isascii() or joined.count(BETWEEN) != len(names) - 1 or not all(names):
        return None
    numbers = {}
    for column, at in columns.items():
        if column in ("", "id"):
            continue
        try:
            values = np.array(array("d", map(float, fields[at])))
        except ValueError:
            return None
        # min and max propagate NaN
        if not (values.min() >= 0.0 and values.max() < math.inf) or "_" in "".join(fields[at]):
            return None
        numbers[column] = values
    if np.any(numbers.get("min", np.zeros(1)) > numbers.get("max", np.full(1, math.inf))):
        return None
    return _Part(joined, np.arange(before + 1, after + 1, dtype=np.int32), numbers, {})


def _row_by_row(path: Path, rows: list[list[str]], before: int, columns: dict[str, int]) -> _Part:
    names: list[str] = []
    lines = array("i")
    laws: dict[int, Law] = {}
    numbers = {column: array("d") for column in columns if column not in ("", "id", "model")}
    line = before
    for row in rows:
        first = line + 1
        line += 1 + sum(_line_ends(field) for field in row)
        if not row:
            continue
        try:
            name, values, law = _read_row(row, columns)
        except ValueError as error:
            raise TraceError(f"{path}: line {first}: {error}") from None
        if law is not None:
            laws[len(names)] = law
        names.append(name)
        lines.append(first)
        for column, value in values.items():
            numbers[column].append(value)
    return _Part(
        BETWEEN.join(names), np.array(lines, dtype=np.int32), {c: np.array(v) for c, v in numbers.items()}, laws
    )


def _line_ends(field: str) -> int:
    return field.count("\n") + field.count("\r") - field.count("\r\n")


def _read_row(row: Row, columns: dict[str, int]) -> tuple[str, dict[str, float], Law | None]:
    """Return the id, the numbers by column, and the law, None for Poisson. A ValueError says what was expected."""
    if len(row) != columns[""]:
        raise ValueError(f"{len(row)} fields, {shortened(','.join(row))!r}: expected {columns['']} as in the header")
    name = row[columns["id"]]
    check_utf8("id", name)
    if not name or BETWEEN in name:
        raise ValueError(f"id {name!r}: expected text")
    values = {column: _number(column, row[at]) for column, at in columns.items() if column not in ("", "id", "model")}
    if values.get("min", 0.0) > values.get("max", math.inf):
        raise ValueError(f"min {row[columns['min']]} above max {row[columns['max']]}: expected no more than max")
    return name, values, _law(row[columns["model"]].strip() if "model" in columns else "", values, row, columns)


def _number(column: str, text: str) -> float:
    if column in WITHOUT and not text.strip():
        return WITHOUT[column]
    try:
        value = math.nan if "_" in text else float(text)  # float accepts 1_000
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        left_out = " or nothing" if column in WITHOUT else ""
        raise ValueError(f"{column} {shortened(text)!r}: expected a finite number from 0 up{left_out}")
    return value


def _law(model: str, values: dict[str, float], row: Row, columns: dict[str, int]) -> Law | None:
    if model and model not in MODELS:
        raise ValueError(f"model {shortened(model)!r}: expected one of {', '.join(MODELS)}, or nothing for {POISSON}")
    model = model or POISSON
    if not values["rate"]:
        return None
    try:
        return MODELS[model](values["rate"], values.get("shape", math.nan))
    except ValueError as error:
        given = shortened(row[columns["shape"]]) if "shape" in columns else ""
        raise ValueError(f"shape {given!r} of the model {model}: expected {error}") from None


def _objects(path: Path, parts: Sequence[_Part]) -> PlannedObjects:
    ids = Ids([part.names for part in parts], [part.lines.size for part in parts])
    lines = np.concatenate([part.lines for part in parts])
    if (repeated := ids.first_repeated()) is not None:
        first, again = repeated
        raise TraceError(
            f"{path}: line {lines[again]}: id {shortened(ids[again])!r}: expected each id once, "
            f"and line {lines[first]} has it"
        )
    numbers = {column: np.concatenate([part.numbers[column] for part in parts]) for column in parts[0].numbers}
    starts = np.cumsum([0, *(part.lines.size for part in parts)]).tolist()
    return PlannedObjects(
        ids,
        numbers["rate"],
        numbers.get("weight", np.ones(len(ids))),
        minimum=numbers.get("min"),
        maximum=numbers.get("max"),
        laws={start + row: law for start, part in zip(starts, parts, strict=False) for row, law in part.laws.items()},
        lines=lines,
    )
