"""Files of the native columnar form: CSV (plain or gzip), .npz and Parquet, recognised by their content.

An error in such a file is reported with its place and ends the reading; no rows are skipped.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from bestbefore.replay.traces.columns.columnar import REQUEST_COLUMNS, UPDATE_COLUMNS, Table
from bestbefore.replay.traces.columns.columns import Requests, Updates, is_in_order
from bestbefore.replay.traces.formats import csv, npz, parquet
from bestbefore.replay.traces.opening import open_trace

Warn = Callable[[str], None]

WRITERS: dict[str, Callable[[BinaryIO, Table], None]] = {
    ".npz": npz.write_table,
    ".parquet": parquet.write_table,
    ".csv": csv.write_table,
    ".csv.gz": csv.write_zipped_table,
}
"""The writers by file name extension."""


def read_updates(path: Path | str, warn: Warn) -> Updates:
    """Read the updates of a file. Raises TraceError; calls `warn` with one line if the rows are out of order."""
    return _read(Path(path), UPDATE_COLUMNS, warn).updates()


def read_requests(path: Path | str, warn: Warn) -> Requests:
    """Read the requests of a file. Raises TraceError; calls `warn` with one line if the rows are out of order."""
    return _read(Path(path), REQUEST_COLUMNS, warn).requests()


def writer_for(path: Path) -> Callable[[BinaryIO, Table], None]:
    """Return the writer for a file of this name; ValueError if there is none, TraceError if it is not installed."""
    for ending, write in WRITERS.items():
        if path.name.endswith(ending) and path.name != ending:
            if write is parquet.write_table:
                parquet.installed_polars()
            return write
    raise ValueError(f"{path}: expected a name that ends in {', '.join(WRITERS)}")


def _read(path: Path, columns: Sequence[str], warn: Warn) -> Table:
    with open_trace(path) as source:
        head = source.head()
        if npz.looks_like_npz(head):
            table = npz.read_table(source, columns)
        elif parquet.looks_like_parquet(head):
            table = parquet.read_table(source, columns)
        else:
            table = csv.read_table(source, columns)
    if not is_in_order(table.times_s):
        warn(f"{path}: out of order, sorted by time")
    return table
