"""A bar or a spinner on stderr while there is something to wait for, if a person can see it."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any, cast

import click

from bestbefore.replay.sweeps.progress import Watch


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


@contextmanager
def bar(description: str, total: int) -> Iterator[Watch]:
    """Pass items on, as many as there are in total, with a progress bar and the time left."""
    if not sys.stderr.isatty():
        yield iter
        return
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)

    def watch(items: Iterator[Any]) -> Iterable[Any]:
        progress.start()  # and with it a thread: processes that give the items have begun before
        return progress.track(items, total=total, description=description)

    try:
        yield watch
    finally:
        progress.stop()


@contextmanager
def spinner(description: str) -> Iterator[None]:
    """Show what is being done and for how long already, if the total is not known."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(description, total=None)
        yield


def in_order[R](
    work: AbstractContextManager[Iterator[tuple[int, R]]], total: int, description: str
) -> list[R]:
    """Return all values of work over several processes, by their places from 0 on, with a progress bar."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        with work as values, bar(description, total) as watch:
            found = dict(watch(values))
    except BrokenProcessPool:
        raise click.ClickException(
            "a process ended early: perhaps the memory is too small for so many (see --jobs)"
        ) from None
    return [found[place] for place in range(total)]
