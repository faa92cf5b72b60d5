"""`bestbefore papers`: reproduce the tables and figures of the papers, each printed value beside ours."""

import os
import platform
import shlex
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.clock import RealClock
from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.clusters.on_option import on_option, opened_cluster
from bestbefore.replay.commands.messages import warn
from bestbefore.replay.commands.progress import bar
from bestbefore.replay.commands.scenario_options import jobs_option
from bestbefore.replay.papers.table import PAPERS, writer_of
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.traces.errors import TraceError

TRACES_VARIABLE = "BESTBEFORE_TRACES"


@click.command("papers", short_help="Reproduce tables and figures of the papers.")
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--traces", type=click.Path(path_type=Path), envvar=TRACES_VARIABLE, metavar="DIR",
              help=f"Folder of traces (default ${TRACES_VARIABLE}).")
@click.option("--out", "folder", type=click.Path(path_type=Path, file_okay=False), default=Path("docs/results"),
              show_default=True, metavar="DIR", help="Folder to write each page NAME.md and its figures to.")
@jobs_option
@on_option
def command(names: tuple[str, ...], traces: Path | None, folder: Path, jobs: int, on: str | None) -> None:
    """Reproduce the tables and figures of the papers, each printed value beside ours.

    NAME is one of the papers (default: all).

    \b
      bestbefore papers crawling multicast refresh --out results
    """  # noqa: D301 - click keeps lines after a backspace
    chosen = list(dict.fromkeys(names or PAPERS))
    try:
        writers = {name: writer_of(name) for name in chosen}
    except ValueError as error:
        raise InputError(str(error)) from None
    with nullcontext() if on is None else opened_cluster(on, jobs) as cluster:
        work = Work(traces, warn, jobs, bar, cluster)
        for name, write in writers.items():
            page = Page(name, made())
            try:
                write(work, page)
            except TraceError as error:
                raise InputError(str(error)) from None
            except BrokenProcessPool:
                raise click.ClickException("a process ended early: is memory short? (see --jobs)") from None
            click.echo(page.write(folder))


def made() -> str:
    """Return the caption of a table: command, date and machine."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    line = shlex.join(["bestbefore", *sys.argv[1:]])
    return f"`{line}`, {utc(RealClock().now())[:10]}, {machine}"
