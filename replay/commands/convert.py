"""`bestbefore convert`: a trace of any format to the columnar form."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import click

from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.progress import open_watched
from bestbefore.replay.commands.trace_options import format_option
from bestbefore.replay.traces.columnar import Table, table_of
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.files import writer_for
from bestbefore.replay.traces.reading import read_trace
from bestbefore.replay.traces.summary import summary
from bestbefore.replay.traces.table import FORMATS


def _formats() -> str:
    """The formats and what they carry, a line each, as click keeps them."""
    lines = (f"{name}: {format_.what} ({format_.carries.names()})" for name, format_ in FORMATS.items())
    return "\n".join(["\b", "Formats, any of them plain or gzip:", *(f"  {line}" for line in lines)])


@click.command("convert", short_help="Convert a log or another trace to columns.", epilog=_formats())
@format_option(required=False)
@click.argument("in_path", metavar="IN", type=click.Path(path_type=Path))
@click.argument("out_path", metavar="OUT", type=click.Path(path_type=Path))
def command(format_name: str | None, in_path: Path, out_path: Path) -> None:
    """Convert a log or another trace to columns, which are read much faster.

    OUT ends in .npz, .parquet, .csv or .csv.gz. A log becomes its GET requests in order of time, with status, size,
    validator and kind of browser as far as they are known; a mailbox becomes updates.
    """
    try:
        write = writer_for(out_path)
        if out_path.exists() and in_path.exists() and out_path.samefile(in_path):
            raise InputError(f"{out_path}: expected another file than the one that is read")
        reading = read_trace(in_path, format_name, open_watched)
        for message in reading.skipped.warnings():
            click.echo(f"bestbefore convert: warning: {message}", err=True)
        for message in reading.skipped.remarks():
            click.echo(f"bestbefore convert: {message}", err=True)
        _write(out_path, write, table_of(reading.trace))
    except (TraceError, ValueError) as error:
        raise InputError(str(error)) from None
    bad = f"bad entries skipped: {reading.skipped.count:,}"
    click.echo(f"{out_path}: {summary(reading.trace)} ({reading.format}); {bad}")


def _write(path: Path, write: Callable[[BinaryIO, Table], None], table: Table) -> None:
    """Write the file whole or not at all: under another name beside it, until it is complete."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file, table)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # as a file that is made anew, not the private one that mkstemp makes
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
