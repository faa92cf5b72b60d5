"""Objects in a folder of Parquet files, the parts, each with the columns `id,rate` and optionally `weight,min,max`.

Only one part is in memory at a time, in each process. An optional value may be null. Ids are checked within a part.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.checked import MOST
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.owners import OwnerNumbers
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.parquet import installed_polars
from bestbefore.replay.traces.skipped import printable, shortened

SUFFIX = ".parquet"
REQUIRED = ("id", "rate")
WITHOUT = {"weight": 1.0, "min": 0.0, "max": np.inf}
"""The default values of optional columns."""
ONLY_POISSON = ("model", "shape")
_UP_TO_HOST = r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*|[^/]*)"
"""The start of an id, by which alone its owner is known; see `domains.domain_of`. It is the same for many objects."""


@dataclass(frozen=True, slots=True)
class PartFile:
    """One part."""

    path: Path
    """Absolute, as other processes read it."""
    first: int
    """The number of objects in the parts before it."""


class MapOver(Protocol):
    """A map of a function over arguments in processes or on machines, as `DaskCluster.map`."""

    def __call__[A, R](
        self, function: Callable[[A], R], arguments: Sequence[A]
    ) -> AbstractContextManager[Any]: ...


class FileParts:
    """Parts in files; each round is counted."""

    def __init__(self, paths: Sequence[Path], map_: MapOver, *, owned: bool = False) -> None:
        """`owned` says whether questions need the owners of objects."""
        self.paths, self.owned, self._map = paths, owned, map_
        self.rounds = 0

    def ask[A](self, question: Callable[[PartColumns], A]) -> list[A]:
        """Ask each part, where its file is read; see `allocation.parts.Parts`."""
        return self.each(partial(_answer, question, self.owned), list(enumerate(self.paths)))

    def each[B, A](self, function: Callable[[B], A], arguments: Sequence[B]) -> list[A]:
        """Return the values of the function, in the order of the arguments."""
        self.rounds += 1
        with self._map(function, arguments) as values:
            found = dict(values)
        return [found[place] for place in range(len(arguments))]


def _answer(question: Callable[[PartColumns], Any], owned: bool, part: tuple[int, Path]) -> Any:
    number, path = part
    return question(read_columns(path, number, owned=owned))


def part_paths(folder: Path) -> Sequence[Path]:
    """Return the files of a folder of parts, by name. Raises TraceError if there is none."""
    try:
        paths = sorted(path.absolute() for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError as error:
        raise TraceError(f"{folder}: {error.strerror}") from None
    if not paths:
        raise TraceError(f"{folder}: no file *{SUFFIX}, expected parts with the columns {','.join(REQUIRED)}")
    return paths


def read_columns(path: Path, number: int = 0, *, owned: bool = False) -> PartColumns:
    """Read the numbers of a part, which has this place among all, with the owners of its objects if they are needed.

    Raises TraceError for a missing column and the first invalid value, with its row.
    """
    given = _columns_of(path)
    frame = _frame(path, [column for column in ("rate", *WITHOUT) if column in given])
    numbers = {column: _numbers(path, column, frame[column]) for column in frame.columns}
    least, most = numbers.get("min"), numbers.get("max")
    if least is not None and most is not None and (wrong := least > most).any():
        row = int(wrong.argmax())
        raise TraceError(
            f"{path}: row {row + 1}: min {least[row]:g} above max {most[row]:g}: expected no more than max"
        )
    rates = numbers["rate"]
    weights = numbers.get("weight")
    owners = read_owners(path)[0] if owned else None
    weights = np.ones(len(rates)) if weights is None else weights
    return PartColumns(rates, weights, least, most, number=number, owners=owners)


def read_owners(path: Path) -> tuple[NDArray[np.intp], Sequence[str]]:
    """Read the owners of the objects of a part: (n,) by number, and their names."""
    pl = installed_polars(f"{path}: ")
    starts = read_ids(path).fill_null("").str.extract(_UP_TO_HOST, 0).to_frame("start")
    distinct = starts.unique(maintain_order=True)
    owners = OwnerNumbers()
    numbers = pl.Series("owner", owners.of(distinct["start"]), dtype=pl.Int64)
    joined = starts.join(distinct.with_columns(numbers), on="start", how="left", maintain_order="left")
    return joined["owner"].to_numpy().astype(np.intp), owners.names


def read_ids(path: Path) -> Any:
    """Read the ids of a part, a series of text."""
    pl = installed_polars(f"{path}: ")
    return _frame(path, ["id"])["id"].cast(pl.String)


def check_ids(path: Path) -> None:
    """Raise TraceError for the first id that is empty, or that another object of the part has."""
    ids = read_ids(path)
    missing = ids.is_null() | (ids == "")
    if missing.any():
        raise TraceError(f"{path}: row {missing.arg_true()[0] + 1}: no id, expected text")
    if ids.n_unique() < len(ids):
        again = int((~ids.is_first_distinct()).arg_true()[0])
        raise TraceError(f"{path}: row {again + 1}: id {shortened(ids[again])!r}: expected each id once")


def _columns_of(path: Path) -> Sequence[str]:
    """Return the names of the columns. Raises TraceError if a column is missing, or has models."""
    pl = installed_polars(f"{path}: ")
    try:
        given = list(pl.read_parquet_schema(path))
    except (Exception, pl.exceptions.PanicException) as error:
        raise _unreadable(path, error) from None
    for column in REQUIRED:
        if column not in given:
            among = shortened(",".join(given))
            raise TraceError(f"{path}: no column {column!r} in {among!r}: expected {','.join((*REQUIRED, *WITHOUT))}")
    for column in ONLY_POISSON:
        if column in given:
            raise TraceError(f"{path}: column {column!r}: objects in parts are Poisson, expected no such column")
    return given


def _frame(path: Path, columns: Sequence[str]) -> Any:
    pl = installed_polars(f"{path}: ")
    try:
        return pl.read_parquet(path, columns=list(columns))
    except (Exception, pl.exceptions.PanicException) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: BaseException) -> TraceError:
    if isinstance(error, OSError) and error.strerror:
        return TraceError(f"{path}: {error.strerror}")
    return TraceError(f"{path}: not Parquet: {printable(shortened(' '.join(str(error).split())))}")


def _numbers(path: Path, column: str, series: Any) -> FloatArray:
    if not (series.dtype.is_numeric() or series.null_count() == len(series)):
        raise TraceError(f"{path}: column {column!r} is of type {series.dtype}: expected numbers")
    if series.null_count():
        if column not in WITHOUT:
            raise TraceError(f"{path}: row {series.is_null().arg_true()[0] + 1}: no {column}, expected a number")
        series = series.fill_null(WITHOUT[column])
    numbers = np.array(series.to_numpy(), dtype=np.float64)
    most = np.inf if column == "max" else MOST
    if len(numbers) and not (numbers.min() >= 0.0 and numbers.max() <= most):  # both propagate NaN
        row = int((~((numbers >= 0.0) & (numbers <= most))).argmax())
        raise TraceError(f"{path}: row {row + 1}: {column} {numbers[row]}: expected a number from 0 to {most:g}")
    return numbers
