"""`bestbefore convert`: convert a trace of any format to the native columnar form."""

import json
from pathlib import Path

import click

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.file_option import file_option
from bestbefore.replay.commands.trace_options import TraceOptions, format_option, read_given, read_watched
from bestbefore.replay.parted.splitting import BYS, MOST_PARTS, split
from bestbefore.replay.traces.columns.columnar import table_of
from bestbefore.replay.traces.columns.files import writer_for
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.parquet import installed_polars
from bestbefore.replay.traces.formats.table import FORMATS
from bestbefore.replay.traces.summary import summary
from bestbefore.replay.whole_file import whole_file


def _formats() -> str:
    """Return the help text on formats and the data that they carry, one per line."""
    lines = (f"{name}: {format_.what} ({format_.carries.names()})" for name, format_ in FORMATS.items())
    return "\n".join(["\b", "Formats, any of them plain or gzip:", *(f"  {line}" for line in lines)])


@click.command("convert", short_help="Convert a log or trace to columns.", epilog=_formats())
@format_option(required=False)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as a JSON object.")
@click.option("--parts", type=click.IntRange(2, MOST_PARTS), metavar="N",
              help="Number of parts, in a folder OUT, for replays on several machines; needs the extra parquet.")
@click.option("--by", type=click.Choice(BYS), default=BYS[0], show_default=True,
              help="With --parts: all events of an object are in one part; or those of all objects of a group, as "
              "replay --group divides them.")
@file_option("--updates", "updates_path", "With --parts: file of updates, where IN has only requests.")
@click.argument("in_path", metavar="IN", type=click.Path(path_type=Path))
@click.argument("out_path", metavar="OUT", type=click.Path(path_type=Path))
def command(
    format_name: str | None,
    parts: int | None,
    by: str,
    updates_path: Path | None,
    in_path: Path,
    out_path: Path,
    *,
    as_json: bool,
) -> None:
    """Convert a log or trace to columns, which are read much faster.

    OUT ends in .npz, .parquet, .csv or .csv.gz. A log becomes its GET requests in order of time, with status, size,
    validator and kind of browser as far as known; a mailbox or feeds become updates.

    \b
      bestbefore convert --format squid access.log requests.npz
      bestbefore convert --parts 16 --by domain access.log trace
    """  # noqa: D301 - click keeps lines after a backspace
    if parts is None and updates_path is not None:
        raise InputError("--updates needs --parts N: one file holds updates or requests")
    try:
        if parts is not None:
            _split(TraceOptions(updates_path, in_path, None) if updates_path is not None else
                   TraceOptions(log_path=in_path, format_name=format_name), out_path, by, parts, as_json=as_json)
            return
        write = writer_for(out_path)
        if out_path.exists() and in_path.exists() and out_path.samefile(in_path):
            raise InputError(f"{out_path}: is the file to be read: give another one")
        reading = read_watched(in_path, format_name)
        with whole_file(out_path) as file:
            write(file, table_of(reading.trace))
    except (TraceError, ValueError) as error:
        raise InputError(str(error)) from None
    if as_json:
        done = {"file": str(out_path), "format": reading.format, "rows": len(reading.trace)}
        click.echo(json.dumps({**done, "skipped": reading.skipped.count}))
        return
    bad = f"bad entries skipped: {reading.skipped.count:,}"
    click.echo(f"{out_path}: {summary(reading.trace)} ({reading.format}); {bad}")


def _split(given: TraceOptions, folder: Path, by: str, parts: int, *, as_json: bool) -> None:
    """Write a trace in parts. Raises TraceError and InputError."""
    installed_polars()  # before the trace is read, which may take long, and anything is written
    updates, requests = read_given(given)
    if requests is None:
        raise InputError("--parts needs requests: expected a log, or requests with --updates FILE")
    trace = split(updates, requests, folder, by, parts)
    if as_json:
        done = {"folder": str(folder), "parts": parts, "by": by, "updates": trace.updates, "requests": trace.requests}
        click.echo(json.dumps(done))
        return
    click.echo(f"{folder}: {parts} parts by {by}: {trace.updates:,} updates, {trace.requests:,} requests")
