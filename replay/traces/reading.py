"""The reading of traces of any format, with its recognition and notes on skipped entries."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bestbefore.policies.validation.machinery.spec import unknown_name
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.table import FORMATS, Trace
from bestbefore.replay.traces.inference.accesses import Accesses
from bestbefore.replay.traces.inference.outlying_dates import outlying_dates
from bestbefore.replay.traces.opening import Open, OpenTrace, open_plainly, open_trace
from bestbefore.replay.traces.skipped import Skipped

_FOLDER_FORMAT = next(name for name, known in FORMATS.items() if known.read_folder is not None)
"""The format of a folder unless another is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A trace with its format and the notes on skipped entries."""

    format: str
    trace: Trace
    skipped: Skipped

    def warnings(self) -> Iterator[str]:
        """Yield warnings about the trace, one line each."""
        yield from self.skipped.warnings()
        if isinstance(self.trace, Accesses):
            for remark in outlying_dates(self.trace):
                yield f"{self.skipped.path}: {remark}"


def read_trace(
    path: Path | str, format_: str | None = None, open_: Open = open_plainly, *, now_s: float = math.inf
) -> Reading:
    """Read the trace in a file or folder, in the given format or a recognised one.

    Updates dated later than `now_s` are left out, except in the native form: clocks may be wrong, and feeds announce
    events. Raises TraceError if the trace cannot be read or has no usable entries, and if the format is neither given
    nor recognised.
    """
    path = Path(path)
    skipped = Skipped(path)
    if os.path.isdir(path):  # noqa: PTH112 (which never raises)
        name, trace = _from_folder(path, format_, skipped)
    else:
        with open_trace(path, open_) as source:
            name = _recognised(source) if format_ is None else format_
            trace = FORMATS[name].read(source, skipped)
    if isinstance(trace, Updates) and not FORMATS[name].native:
        trace = _not_ahead(trace, now_s, skipped)
    if not len(trace):
        left_out = "".join(f"; {remark}: {count:,}" for remark, count in skipped.notes.items())
        bad = f"; bad entries: {skipped.count:,}, the first: {skipped.first}" if skipped.count else ""
        raise TraceError(f"{path}: nothing usable, read as {name} ({FORMATS[name].what}){left_out}{bad}")
    return Reading(name, trace, skipped)


def format_named(name: str) -> str:
    """Return the name of a format. Raises ValueError, with the nearest name, if there is no such format."""
    if name not in FORMATS:
        raise ValueError(unknown_name("format", name, FORMATS))
    return name


def foreign_format(path: Path) -> str | None:
    """Return the format of a file or folder if it is recognised and not the native form; else None."""
    if os.path.isdir(path):  # noqa: PTH112 (as above)
        return _FOLDER_FORMAT
    if not os.path.isfile(path):  # noqa: PTH113 (likewise)
        return None
    try:
        with open_trace(path) as source:
            name = _recognised(source)
    except TraceError:
        return None
    return None if FORMATS[name].native else name


def _recognised(source: OpenTrace) -> str:
    """Return the format that recognises the content. Raises TraceError unless exactly one does."""
    head = source.head()
    if not head:
        raise TraceError(f"{source.path}: empty")
    names = [name for name, format_ in FORMATS.items() if format_.looks_like(head)]
    if not names:
        raise TraceError(f"{source.path}: looks like none of the formats; name one with --format: {', '.join(FORMATS)}")
    if len(names) > 1:
        raise TraceError(f"{source.path}: looks like {' and '.join(names)}; name one with --format")
    return names[0]


def _from_folder(folder: Path, format_: str | None, skipped: Skipped) -> tuple[str, Trace]:
    """Read a folder; return the name of the format and the trace. Raises TraceError if the format has no folders."""
    name = format_ or _FOLDER_FORMAT
    read_folder = FORMATS[name].read_folder
    if read_folder is None:
        raise TraceError(f"{folder}: a folder: expected a file")
    return name, read_folder(folder, skipped)


def _not_ahead(updates: Updates, now_s: float, skipped: Skipped) -> Updates:
    past = updates.until(now_s)
    if ahead := len(updates) - len(past):
        skipped.notes["updates left out, dated in the future"] += ahead
    return past
