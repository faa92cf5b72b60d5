"""The native columnar form of traces, common to CSV, .npz and Parquet files.

A table of updates has the columns `object,time`; a table of requests has `time,client,object` and optionally
`size,status,validator,agent`. A file is read whole into a table, checked, and converted to Updates, Requests or
Accesses.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.replay.traces.columns.columns import ROWS_AT_ONCE, IdArray, Requests, Updates
from bestbefore.replay.traces.columns.names import NO_NAME
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses
from bestbefore.replay.traces.skipped import shortened

TIME = "time"
TEXTS = ("client", "object", "validator", "agent")
NUMBERS = ("size", "status")
UPDATE_COLUMNS = ("object", "time")
REQUEST_COLUMNS = ("time", "client", "object")
ACCESS_COLUMNS = ("client", *NUMBERS, "validator", "agent")
"""The columns of requests: a table with any of them is an access log, a table without them is updates."""
OPTIONAL_TEXTS = ("validator", "agent")
"""The columns of names that may be empty in a row."""
MOST_S = float(np.finfo(np.float64).max)
LARGEST = {"size": 2**53, "status": 999}
"""The largest values of numeric columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A column of names: an id for each row, NO_NAME for a row without a name, and the names by id."""

    ids: IdArray
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length, in the order of the file."""

    times_s: FloatArray
    texts: Mapping[str, Text]
    numbers: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """The numeric columns by name; UNKNOWN in a row without a value."""

    def updates(self) -> Updates:
        return Updates.of(self.times_s, self.texts["object"].ids, self.texts["object"].names)

    def requests(self) -> Requests:
        clients, objects = self.texts["client"], self.texts["object"]
        return Requests.of(self.times_s, clients.ids, objects.ids, clients.names, objects.names)

    def trace(self) -> Updates | Accesses:
        """Return updates if the table has no column of `ACCESS_COLUMNS`, else accesses; without clients, by one."""
        if not any(column in ACCESS_COLUMNS for column in (*self.texts, *self.numbers)):
            return self.updates()
        no_clients = Text(np.zeros(len(self.times_s), dtype=np.int32), ("",))
        clients, objects = self.texts.get("client", no_clients), self.texts["object"]
        statuses, validators, agents = self.numbers.get("status"), self.texts.get("validator"), self.texts.get("agent")
        return Accesses.of(
            self.times_s,
            (clients.ids, clients.names),
            (objects.ids, objects.names),
            statuses=None if statuses is None else statuses.astype(np.int16),
            sizes_bytes=self.numbers.get("size"),
            validators=None if validators is None else (validators.ids, validators.names),
            agent_ids=None if agents is None else agents.ids,
        )


def table_of(trace: Updates | Accesses) -> Table:
    """The columns of a trace, without those that are unknown in all rows."""
    if isinstance(trace, Updates):
        return Table(trace.times_s, {"object": Text(trace.object_ids, trace.objects)})
    requests = trace.requests
    texts = {
        "client": Text(requests.client_ids, requests.clients),
        "object": Text(requests.object_ids, requests.objects),
    }
    if np.any(trace.validator_ids != NO_NAME):
        texts["validator"] = Text(trace.validator_ids, trace.validators)
    if np.any(trace.agent_ids != NO_NAME):
        texts["agent"] = Text(trace.agent_ids, tuple(map(str, range(int(trace.agent_ids.max()) + 1))))
    numbers = {"size": trace.sizes_bytes, "status": trace.statuses.astype(np.int64)}
    known = {name: column for name, column in numbers.items() if np.any(column != UNKNOWN)}
    return Table(requests.times_s, texts, known)


def require_columns(path: Path, required: Iterable[str], given: Collection[str]) -> None:
    """Raise TraceError if a required column is missing."""
    for column in required:
        if column not in given:
            among = shortened(",".join(given))
            raise TraceError(f"{path}: no column {column!r} in {among!r}: expected {','.join(required)}")


def named(values: NDArray[Any]) -> Text:
    """Make a column from an array of names, text or whole numbers. Raises ValueError."""
    if values.dtype.kind not in "Uiu":
        raise ValueError(f"names of type {values.dtype}: expected text or whole numbers")
    distinct, ids = np.unique(values, return_inverse=True)
    return Text(ids.astype(np.int32), tuple(map(str, distinct.tolist())))


def checked(path: Path, table: Table) -> Table:
    """Check and convert a table whose arrays may have any type and values. Raises TraceError."""
    rows = table.times_s.shape
    times_s = _of_numbers(path, TIME, table.times_s, rows).astype(np.float64, copy=False)
    _require(path, TIME, times_s, 0.0, MOST_S, "a number of Unix seconds, finite and 0 or more")
    texts = {}
    for column, text in table.texts.items():
        ids = _of_numbers(path, column, text.ids, rows, "iu")
        _require(path, column, ids, NO_NAME, len(text.names) - 1, "the number of a name")
        if column not in OPTIONAL_TEXTS and (row := _first_outside(ids, 0, len(text.names))) is not None:
            raise TraceError(f"{path}: row {row + 1}: no {column}")
        texts[column] = Text(ids.astype(np.int32, copy=False), text.names)
    numbers = {}
    for column, values in table.numbers.items():
        given = _of_numbers(path, column, values, rows)
        known = np.where(np.isnan(given), float(UNKNOWN), given) if given.dtype.kind == "f" else given
        expected = f"a whole number up to {LARGEST[column]}"
        _require(path, column, known, UNKNOWN, LARGEST[column], expected)
        if not (whole := known == np.floor(known)).all():
            raise _error(path, column, known, int(np.argmin(whole)), expected)
        numbers[column] = known.astype(np.int64)
    return Table(times_s, texts, numbers)


def _of_numbers(
    path: Path, column: str, values: NDArray[Any], shape: tuple[int, ...], kinds: str = "iuf"
) -> NDArray[Any]:
    if values.dtype.kind not in kinds or values.shape != shape or len(shape) != 1:
        raise TraceError(
            f"{path}: column {column!r} is of type {values.dtype} and shape {values.shape}: expected numbers, as many "
            f"as there are times"
        )
    return values


def _require(path: Path, column: str, values: NDArray[Any], least: float, most: float, expected: str) -> None:
    if (row := _first_outside(values, least, most)) is not None:
        raise _error(path, column, values, row, expected)


def _first_outside(values: NDArray[Any], least: float, most: float) -> int | None:
    """The first row whose value is not in [least, most], searched in parts to save memory."""
    for start in range(0, len(values), ROWS_AT_ONCE):
        part = values[start : start + ROWS_AT_ONCE]
        good = (part >= least) & (part <= most)
        if not good.all():
            return start + int(np.argmin(good))
    return None


def _error(path: Path, column: str, values: NDArray[Any], row: int, expected: str) -> TraceError:
    return TraceError(f"{path}: row {row + 1}: {column} {values[row]}: expected {expected}")
