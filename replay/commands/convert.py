"""`bestbefore convert`: convert a trace of any format to the native columnar form."""

import json
from pathlib import Path

import click

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.trace_options import format_option, read_watched
from bestbefore.replay.traces.columns.columnar import table_of
from bestbefore.replay.traces.columns.files import writer_for
from bestbefore.replay.traces.errors import TraceError
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
@click.argument("in_path", metavar="IN", type=click.Path(path_type=Path))
@click.argument("out_path", metavar="OUT", type=click.Path(path_type=Path))
def command(format_name: str | None, in_path: Path, out_path: Path, *, as_json: bool) -> None:
    """Convert a log or trace to columns, which are read much faster.

    OUT ends in .npz, .parquet, .csv or .csv.gz. A log becomes its GET requests in order of time, with status, size,
    validator and kind of browser as far as known; a mailbox or feeds become updates.

    \b
      bestbefore convert --format squid access.log requests.npz
    """  # noqa: D301 - click keeps lines after a backspace
    try:
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
