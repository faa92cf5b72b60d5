"""`bestbefore top`: what a running proxy does, as a screen that follows it."""

import json
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from bestbefore.addon.clock import RealClock
from bestbefore.addon.commands.clients.admin_pages import AdminPages
from bestbefore.addon.commands.upkeep.top_screen import ORDERS, Rates, Snapshot, plain_text, screen
from bestbefore.addon.config import values
from bestbefore.addon.config.load import load_config
from bestbefore.addon.errors import InputError

LEAST_EVERY_S = 0.1
PATH = "/top.json?rows=50"
ONCE_ROWS = 60
HEAD_ROWS = 12
"""The lines of the screen that are no rows of tables."""


@click.command("top")
@click.option("--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Configuration file of the proxy, in TOML, for its admin address (default: none).")
@click.option("--admin", metavar="HOST:PORT", help="Admin address of the proxy, also http://USER:PASSWORD@HOST:PORT.")
@click.option("--sort", "order", type=click.Choice(ORDERS), default=ORDERS[0], show_default=True,
              help="Order of the domains, and of objects where they have such a count.")
@click.option("--every", metavar="DURATION", default="2s", show_default=True,
              help="Time between two updates: seconds, or s, m, h or d.")
@click.option("--once", is_flag=True, help="Print what is there now, and end; so too without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object at each update; with --once, one.")
def command(
    config_file: Path | None, admin: str | None, order: str, every: str, *, once: bool, as_json: bool
) -> None:
    """Show what a running proxy does: hits, contacts, stale hits, latency; the busiest domains, objects and clients.

    It reads the proxy's admin address, of this machine or with a password. Keys: s sorts by the next count, q ends.

    \b
      bestbefore top
      bestbefore top --config proxy.toml --sort unnecessary
      bestbefore top --once --json | jq .hits
    """  # noqa: D301 - click keeps lines after a backspace
    every_s = _every_s(every)
    pages = AdminPages.of(admin, load_config(config_file).settings)
    first = pages.read(PATH)
    if as_json:
        _print_json(pages, first, every_s, once=once)
    elif once or not sys.stdout.isatty():
        _print_once(first, order)
    else:
        _follow(pages, first, order, every_s)


def _every_s(text: str) -> float:
    try:
        return max(values.duration_s(text), LEAST_EVERY_S)
    except ValueError as error:
        raise InputError(f"--every {text}: {error}") from None


def _print_json(pages: AdminPages, now: Snapshot, every_s: float, *, once: bool) -> None:
    click.echo(json.dumps(now))
    while not once:
        sys.stdout.flush()
        select.select([], [], [], every_s)
        click.echo(json.dumps(pages.read(PATH)))


def _print_once(now: Snapshot, order: str) -> None:
    """Print the screen; to a file or a pipe as lines that are not cut to the width of a terminal."""
    if sys.stdout.isatty():
        Console().print(screen(now, None, order, ONCE_ROWS))
    else:
        click.echo(plain_text(now, order, ONCE_ROWS), nl=False)


def _follow(pages: AdminPages, now: Snapshot, order: str, every_s: float) -> None:
    """Show the screen again and again until the key q."""
    console, clock = Console(), RealClock()
    before: Snapshot | None = None
    rates, at_s, trouble = None, clock.monotonic(), ""
    with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            note = trouble or f"s: sort (now by {order})   q: end   every {every_s:g} s"
            live.update(screen(now, rates, order, console.height - HEAD_ROWS, note), refresh=True)
            wait_s = at_s + every_s - clock.monotonic()
            key = pressed(max(wait_s, 0.0))
            if key == "q":
                return
            if key == "s":
                order = ORDERS[(ORDERS.index(order) + 1) % len(ORDERS)]
            if key:
                continue
            try:
                before, now, trouble = now, pages.read(PATH), ""
            except click.ClickException as error:  # it may be started again
                before, trouble = None, error.message
            seconds, at_s = clock.monotonic() - at_s, clock.monotonic()
            rates = Rates.between(before, now, seconds)


@contextmanager
def _keys() -> Iterator["_Pressed"]:
    """Read keys one by one, without showing them, where standard input is a terminal."""
    if not sys.stdin.isatty():
        yield _Pressed(None)
        return
    file = sys.stdin.fileno()
    saved = termios.tcgetattr(file)
    try:
        tty.setcbreak(file)
        yield _Pressed(file)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, saved)


class _Pressed:
    """The keys of a terminal."""

    def __init__(self, file: int | None) -> None:
        self._file = file

    def __call__(self, seconds: float) -> str:
        """Wait for a key and return it in lower case; empty if none was pressed in time."""
        ready, _, _ = select.select([] if self._file is None else [self._file], [], [], seconds)
        if not ready or self._file is None:
            return ""
        read = os.read(self._file, 64).decode("ascii", "replace")
        return (read[:1] or "q").lower()
