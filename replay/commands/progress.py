"""A bar on stderr while a trace is read, if a person can see it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import cast


@contextmanager
def open_watched(path: Path) -> Iterator[RawIOBase]:
    """The file, opened for reading; the bar shows how much of it has been read."""
    with path.open("rb", buffering=0) as file:
        if not sys.stderr.isatty():
            yield file
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            size = path.stat().st_size or None  # a pipe has none
            # What it hands over counts what is read, and passes the rest on.
            yield cast("RawIOBase", progress.wrap_file(file, total=size, description=f"reading {path.name}"))
