"""The options for a recorded trace: files of updates and requests, or a log."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import click

from bestbefore.addon.clock import RealClock
from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.file_option import file_option
from bestbefore.replay.commands.messages import say, warn
from bestbefore.replay.commands.option_groups import Command, passed_as
from bestbefore.replay.commands.progress import open_watched, spinner
from bestbefore.replay.traces.columns import files
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.table import FORMATS
from bestbefore.replay.traces.inference.inference import infer_updates
from bestbefore.replay.traces.reading import Reading, foreign_format, format_named, read_trace
from bestbefore.replay.traces.summary import summary


def format_option(*, required: bool) -> Callable[..., Callable[..., object]]:
    """Make the option `--format NAME`, which checks the name."""

    def check(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
        try:
            return None if value is None else format_named(value)
        except ValueError as error:
            raise InputError(f"--format: {error}") from None

    default = "" if required else " (default: recognised by name and content)"
    return click.option("--format", "format_name", callback=check, required=required, metavar="NAME",
                        help=f"Format of the trace{default}: {', '.join(FORMATS)}.")


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """The values of `trace_options`."""

    updates_path: Path | None = None
    requests_path: Path | None = None
    log_path: Path | None = None
    format_name: str | None = None


def trace_options(command: Command) -> Command:
    """Add --updates, --requests, --log and --format, passed as a `TraceOptions` named `trace`."""
    command = passed_as(TraceOptions, "trace")(command)
    for option in (
        format_option(required=False),
        file_option("--log", "log_path",
                    "Instead of --updates and --requests: an access log, HAR or flow file, from which updates are "
                    "inferred; for replay --refresh a mailbox, or a folder or list (OPML) of feeds."),
        file_option("--requests", "requests_path",
                    "Requests: CSV, CSV.gz, .npz or Parquet file with the columns time (Unix seconds),client,object."),
        file_option("--updates", "updates_path",
                    "Updates: CSV, CSV.gz, .npz or Parquet file with the columns object,time (Unix seconds)."),
    ):
        command = option(command)
    return command


def read_watched(path: Path, format_name: str | None) -> Reading:
    """Read the trace in a file or folder, with a progress bar on a terminal, and print remarks. Raises TraceError."""
    with spinner(f"reading {path.name}") if os.path.isdir(path) else nullcontext():  # noqa: PTH112 (which never raises)
        reading = read_trace(path, format_name, open_watched, now_s=RealClock().now())
    for message in reading.warnings():
        warn(message)
    for message in reading.skipped.remarks():
        say(message)
    return reading


def read_given(given: TraceOptions) -> tuple[Updates, Requests | None]:
    """Read the trace that the options name; requests are None if it has none. Raises InputError.

    Prints warnings on its quality, and summaries of a log and of the updates inferred from it.
    """
    updates_path, requests_path = given.updates_path, given.requests_path
    try:
        if given.log_path is not None:
            if updates_path is not None or requests_path is not None:
                raise InputError("--log FILE replaces --updates and --requests: give one or the others")
            return _from_log(read_watched(given.log_path, given.format_name))
        if updates_path is None:
            raise InputError("expected --updates FILE and --requests FILE, or --log FILE")
        if given.format_name is not None:
            raise InputError("--format needs --log FILE; the format of --updates and --requests is recognised")
        updates = _read_native(files.read_updates, updates_path)
        requests = None if requests_path is None else _read_native(files.read_requests, requests_path)
    except TraceError as error:
        raise InputError(str(error)) from None
    if requests is not None and not len(requests):
        raise InputError(f"{requests_path}: no request: expected at least one row below the header")
    if not len(updates):
        if requests is None:
            raise InputError(f"{updates_path}: no update: expected at least one row below the header")
        warn(f"{updates_path}: no update, so that no hit can be stale")
    if requests and updates and set(updates.objects).isdisjoint(requests.objects):
        warn(
            f"{requests_path}: no object has an update in {updates_path}: expected the same names in both, not such as "
            f"{requests.objects[0]!r} and {updates.objects[0]!r}"
        )
    return updates, requests


def _read_native[T](read: Callable[[Path, files.Warn], T], path: Path) -> T:
    """Read a file in the native form. The TraceError for a file of another format says how to read it."""
    try:
        return read(path, warn)
    except TraceError as error:
        name = foreign_format(path)
        if name is None:
            raise
        raise TraceError(f"{error}; it is read with --log, as {name}") from None


def _from_log(reading: Reading) -> tuple[Updates, Requests | None]:
    path, trace = reading.skipped.path, reading.trace
    say(f"{path}: {summary(trace)} ({reading.format})")
    if isinstance(trace, Updates):
        return trace, None
    requests = trace.answered()
    if not len(requests):
        raise TraceError(f"{path}: no request was answered with the object (status 200, 203 or 304)")
    if len(requests) < len(trace):
        say(f"{path}: requests left out, answered neither with the object nor with 304: {len(trace) - len(requests):,}")
    inferred = infer_updates(trace)
    say(f"{path}: {inferred.summary()}")
    return inferred.updates, requests
