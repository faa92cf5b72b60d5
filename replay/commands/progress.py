"""Progress bars and spinners on stderr, if it is a terminal; with `FOR_PROGRAMS` in the environment lines of JSON."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from bestbefore.replay.sweeps.progress import Watch

if TYPE_CHECKING:
    from rich.console import Console

FOR_PROGRAMS = "BESTBEFORE_PROGRESS"
"""Its value `json` is for a program that shows the progress itself, as the dashboard does."""
MOST_LINES = 200
"""So many lines are written at most for a bar."""


def _console() -> "Console":
    """Return standard error with its cursor visible: SIGINT ends a compilation at once, and nobody would show it again.

    See `bestbefore.replay.kernels.compiling.ended_by_interrupt`.
    """
    from rich.console import Console

    class Shown(Console):
        def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002 - as rich has it
            return False

    return Shown(stderr=True)


@contextmanager
def open_watched(path: Path) -> Iterator[RawIOBase]:
    """Open a file for reading, with a progress bar of the bytes read."""
    with path.open("rb", buffering=0) as file:
        if not sys.stderr.isatty():
            yield file
            return
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=_console(), transient=True) as progress:
            size = path.stat().st_size or None  # a pipe has size 0
            # The wrapper counts the bytes read and delegates all other methods.
            yield cast("RawIOBase", progress.wrap_file(file, total=size, description=f"reading {path.name}"))


@contextmanager
def bar(description: str, total: int) -> Iterator[Watch]:
    """Show a progress bar with the time left for `total` items."""
    if os.environ.get(FOR_PROGRAMS) == "json":
        yield lambda items: _counted(items, description, total)
        return
    if not sys.stderr.isatty():
        yield iter
        return
    from rich.progress import Progress

    progress = Progress(console=_console(), transient=True)

    def watch(items: Iterator[Any]) -> Iterable[Any]:
        progress.start()  # only here, as it starts a thread, and worker processes must have been forked before
        return progress.track(items, total=total, description=description)

    try:
        yield watch
    finally:
        progress.stop()


def _counted(items: Iterator[Any], description: str, total: int) -> Iterator[Any]:
    """Yield the items, and write how many there were."""
    step = -(-total // MOST_LINES)
    for done, item in enumerate(items, 1):
        if done == total or done % step == 0:
            click.echo(json.dumps({"progress": description, "done": done, "of": total}), err=True)
        yield item


@contextmanager
def spinner(description: str) -> Iterator[None]:
    """Show a description and the time elapsed, for work of unknown length."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=_console(), transient=True) as progress:
        progress.add_task(description, total=None)
        yield


def in_order[R](work: AbstractContextManager[Iterator[tuple[int, R]]], total: int, description: str) -> list[R]:
    """Return the values of a `parallel_map`, ordered by index, with a progress bar."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        with work as values, bar(description, total) as watch:
            found = dict(watch(values))
    except BrokenProcessPool:
        raise click.ClickException(
            "a process ended early: perhaps the memory is too small for so many (see --jobs)"
        ) from None
    return [found[place] for place in range(total)]
