"""Reading a trace of any format: which it is, what was skipped, and that something is left."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.opening import Open, Source, open_plainly, opened
from bestbefore.replay.traces.skipped import Skipped
from bestbefore.replay.traces.table import FORMATS, Trace


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A trace that was read."""

    format: str
    trace: Trace
    skipped: Skipped


def read_trace(path: Path, format_: str | None, open_: Open = open_plainly) -> Reading:
    """The trace in a file, of the format given or else recognised.

    Raises TraceError if it cannot be read, if nothing usable is in it, or if no format is given and not exactly one
    is certain.
    """
    skipped = Skipped(path)
    with opened(path, open_) as source:
        name = _recognised(source) if format_ is None else format_
        trace = FORMATS[name].read(source, skipped)
    if not len(trace):
        left_out = "".join(f"; {remark}: {count:,}" for remark, count in skipped.notes.items())
        bad = f"; bad entries: {skipped.count:,}, the first: {skipped.first}" if skipped.count else ""
        raise TraceError(f"{path}: nothing usable, read as {name} ({FORMATS[name].what}){left_out}{bad}")
    return Reading(name, trace, skipped)


def format_named(name: str) -> str:
    """The same name. Raises ValueError, with the nearest, if no format bears it."""
    if name not in FORMATS:
        nearest = difflib.get_close_matches(name, FORMATS, n=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"expected one of {', '.join(FORMATS)}"
        raise ValueError(f"unknown format {name!r}, {hint}")
    return name


def _recognised(source: Source) -> str:
    """The only format that the content looks like. Raises TraceError."""
    head = source.head()
    if not head:
        raise TraceError(f"{source.path}: empty")
    names = [name for name, format_ in FORMATS.items() if format_.looks_like(head)]
    if len(names) != 1:
        raise TraceError(f"{source.path}: the format is not certain, name one with --format: {', '.join(FORMATS)}")
    return names[0]
