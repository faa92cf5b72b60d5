"""The reader and writer of traces as Parquet, with the optional dependency `parquet` (polars)."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.replay.traces.columns.columnar import NUMBERS, TEXTS, TIME, Table, Text, checked, require_columns
from bestbefore.replay.traces.columns.columns import IdArray, occurring
from bestbefore.replay.traces.columns.names import NO_NAME
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import UNKNOWN
from bestbefore.replay.traces.opening import OpenTrace
from bestbefore.replay.traces.skipped import printable, shortened

MAGIC = b"PAR1"
MOST_NUMBERED = 1 << 26
"""Names that are whole numbers below this are counted in a table, which is faster than as text."""


def read_table(source: OpenTrace, required: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Read the required and optional columns. Raises TraceError."""
    pl = installed_polars(f"{source.path}: ")
    try:
        with _panics_unseen():
            file = source.seekable()
            given = pl.read_parquet_schema(file)
            require_columns(source.path, required, given)
            columns = [column for column in (*required, *optional) if column in given]
            _require_numbers(pl, source.path, {column: given[column] for column in columns if column not in TEXTS})
            file.seek(0)
            frame = pl.read_parquet(file, columns=columns)
            table = Table(
                frame[TIME].fill_null(float("nan")).to_numpy(),
                {column: _text(pl, frame[column]) for column in TEXTS if column in frame.columns},
                {column: frame[column].fill_null(UNKNOWN).to_numpy() for column in NUMBERS if column in frame.columns},
            )
    except TraceError:
        raise
    # polars raises many types for invalid files; its PanicException is not an Exception.
    except (Exception, pl.exceptions.PanicException) as error:
        why = printable(shortened(" ".join(str(error).split())))
        raise TraceError(f"{source.path}: not Parquet: {why}") from None
    return checked(source.path, table)


def write_table(file: BinaryIO, table: Table) -> None:
    """Write a table in the order of its rows."""
    pl = installed_polars()
    columns = {TIME: pl.Series(table.times_s)}
    for column, text in table.texts.items():
        ids = pl.Series(np.where(text.ids == NO_NAME, len(text.names), text.ids))
        columns[column] = pl.Series([*text.names, None], dtype=pl.String).gather(ids)
    for column, values in table.numbers.items():
        numbers = pl.Series(values)
        columns[column] = numbers.set(numbers == UNKNOWN, None)
    written = BytesIO()  # polars does not always report a full disk
    pl.DataFrame(columns).write_parquet(written)
    file.write(written.getbuffer())


def write_events(file: BinaryIO, times_s: FloatArray, client_ids: IdArray | None, objects: Text) -> None:
    """Write events with the numbers of clients, if there are any; names of objects are in dictionaries."""
    pl = installed_polars()
    columns = {TIME: pl.Series(times_s)}
    if client_ids is not None:
        columns["client"] = pl.Series(np.ascontiguousarray(client_ids))
    names = pl.Series(objects.names, dtype=pl.Enum(objects.names))
    columns["object"] = names.gather(pl.Series(objects.ids))
    write_frame(file, pl.DataFrame(columns))


def write_frame(file: BinaryIO, frame: Any) -> None:
    """Write a frame of polars. Raises OSError, where polars would raise an error of its own for a full disk."""
    written = BytesIO()
    frame.write_parquet(written, compression="lz4")
    file.write(written.getbuffer())


def looks_like_parquet(head: bytes) -> bool:
    """Whether the content begins like Parquet."""
    return head.startswith(MAGIC)


def installed_polars(where: str = "") -> Any:
    """Import polars. Raises TraceError if it is not installed."""
    try:
        import polars as pl
    except ImportError:
        raise TraceError(
            f"{where}Parquet needs the extra 'parquet': pip install '.[parquet]' in a clone (.npz needs none)"
        ) from None
    return pl


@contextmanager
def _panics_unseen() -> Iterator[None]:
    """Redirect stderr to the null device, as polars prints a long text for each panic caused by a damaged file."""
    sys.stderr.flush()
    stderr = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _require_numbers(pl: Any, path: Path, kinds: Mapping[str, Any]) -> None:
    """Raise TraceError unless these columns are numeric or empty."""
    for column, kind in kinds.items():
        if not kind.is_numeric() and kind != pl.Null:
            raise TraceError(f"{path}: column '{column}' is of type {kind}: expected numbers")


def _text(pl: Any, series: Any) -> Text:
    """Convert a column to text. Raises errors of polars if that is impossible."""
    if isinstance(series.dtype, pl.Enum) and not series.null_count():
        return Text(series.to_physical().to_numpy().astype(np.int32), tuple(series.dtype.categories.to_list()))
    if series.dtype.is_integer() and len(series) and not series.null_count():
        least, most = series.min(), series.max()
        if least >= 0 and most < MOST_NUMBERED:
            return _numbered(series.to_numpy(), most + 1)
    names = series.cast(pl.String)
    distinct = names.drop_nulls().unique(maintain_order=True)
    ids = names.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).fill_null(NO_NAME).to_numpy()
    return Text(ids.astype(np.int32), tuple(distinct.to_list()))


def _numbered(values: NDArray[Any], n: int) -> Text:
    """Make a column of the whole numbers 0 to n-1 as names."""
    present = np.flatnonzero(occurring(values, n))
    ids = np.zeros(n, dtype=np.int32)
    ids[present] = np.arange(len(present))
    return Text(ids[values], tuple(map(str, present.tolist())))
