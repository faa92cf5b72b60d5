"""The reading of one part of a trace, on whichever machine replays it."""

from pathlib import Path

from bestbefore.replay.parted.manifest import MANIFEST, PartedTrace
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.parquet import installed_polars


def read_part(trace: PartedTrace, folder: Path, number: int) -> tuple[Updates, Requests]:
    """Read a part by its number; `folder` is that of the trace, the same on all machines.

    Raises TraceError, also for a file with another number of rows than the manifest says, as an old or unfinished copy
    has: its counts would be taken for those of the trace.
    """
    part = trace.parts[number]
    updates = read_updates(folder / part.updates, ignore)
    requests = read_requests(folder / part.requests, ignore)
    for name, rows in ((part.updates, part.update_rows), (part.requests, part.request_rows)):
        _refuse_other_rows(folder / name, rows)
    return updates, requests


def ignore(_: str) -> None:
    """Ignore a warning: what there was to say of the trace was said when it was divided."""


def _refuse_other_rows(path: Path, rows: int) -> None:
    pl = installed_polars(f"{path}: ")
    found = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    if found != rows:
        raise TraceError(f"{path}: {found:,} rows: expected {rows:,}, as {MANIFEST} says: another part?")
