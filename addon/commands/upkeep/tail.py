"""`bestbefore tail`: follow the request log, or the requests of a running proxy, with filters."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Protocol

import click
import msgspec

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.requests import RequestLines
from bestbefore.addon.commands.clients.address import client_address
from bestbefore.addon.commands.clients.admin_pages import AdminPages
from bestbefore.addon.commands.store_options import parse_objects
from bestbefore.addon.commands.upkeep.followed_file import FollowedFile
from bestbefore.addon.commands.upkeep.followed_proxy import FollowedProxy
from bestbefore.addon.config import values
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.errors import InputError
from bestbefore.addon.store.cache.tombstones import matcher

EARLIER = 20
"""How many earlier lines come first."""
EVERY_S = 0.25
"""How often the file is looked at, real seconds."""
LAST_BYTES = 8 << 20
"""In how much of the file the last lines are looked for, where it is followed."""

type _Filter = Callable[[Answered], bool]


class _Line(msgspec.Struct, frozen=True):
    """What is read of a line of the log's JSON format."""

    unix_time: float
    client: str
    method: str
    url: str
    status: int
    verdict: Outcome
    reason: str
    took_s: float
    sent_bytes: int
    ttl_s: float | None = None
    complete: bool = True
    background: bool = False
    because: str = ""

    def answered(self) -> Answered:
        return Answered(
            self.unix_time, self.client, self.method, self.url, self.took_s, self.status, self.verdict, self.reason,
            self.ttl_s, self.sent_bytes, because=self.because, complete=self.complete, background=self.background,
        )  # fmt: skip


class Followed(Protocol):
    """Lines of a log in JSON, as they come."""

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that came since the last call."""

    def close(self) -> None: ...


_decode = msgspec.json.Decoder(_Line).decode


@click.command("tail")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Configuration file of the proxy, in TOML, for its log_file, or without one for its admin address.")
@click.option("--admin", metavar="HOST:PORT",
              help="Follow the requests of a proxy at this admin address, also http://USER:PASSWORD@HOST:PORT; "
              "without a log.")
@click.option("--lines", type=click.IntRange(0), metavar="N",
              help=f"Number of earlier lines that are shown first, {EARLIER} unless given.")
@click.option("--all", "everything", is_flag=True, help="Show all lines that there are, or the last N, and end.")
@click.option("--url", "pattern", metavar="PATTERN", help="Only these objects: a URL or pattern such as example.org.")
@click.option("--client", metavar="ADDRESS", help="Only requests from this address.")
@click.option("--verdict", "verdicts", multiple=True, type=click.Choice([str(one) for one in Outcome]),
              help="Only requests answered so; may be repeated.")
@click.option("--reason", "reasons", multiple=True, metavar="WORD", help="Only this reason; may be repeated.")
@click.option("--slower", metavar="DURATION", help="Only those that took this or longer: seconds, or s, m, h or d.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are in the log: a JSON object each.")
def command(
    file: Path | None, config_file: Path | None, admin: str | None, lines: int | None, pattern: str | None,
    client: str | None, verdicts: tuple[str, ...], reasons: tuple[str, ...], slower: str | None, *, everything: bool,
    as_json: bool,
) -> None:
    """Follow the request log in FILE, or in the log_file of --config, also over rotations. Ctrl-C ends it.

    The log must be in the format json (log_format = "json"). Without a log, the requests come from the admin address
    of the proxy, which keeps the last 500 while it is asked: the first ones are those from then on.

    \b
      bestbefore tail
      bestbefore tail --config proxy.toml --verdict miss --url '*.example.org'
      bestbefore tail /var/log/bestbefore/access.log --slower 1s
      bestbefore tail --all access.log --json | jq .reason | sort | uniq -c
    """  # noqa: D301 - click keeps lines after a backspace
    if file is not None and admin is not None:
        raise InputError("FILE and --admin exclude each other")
    filters = list(_filters(pattern, client, verdicts, reasons, slower))
    settings = load_config(config_file).settings
    path = file or (settings.log_file if admin is None else None)
    followed: Followed = (
        FollowedProxy(AdminPages.of(admin, settings)) if path is None else _opened(path, everything=everything)
    )
    shown = RequestLines(sys.stdout)
    with closing(followed):
        if shown.heading is not None and not as_json:
            click.echo(shown.heading)
        earlier = _matching(followed, path, filters)
        most = EARLIER if lines is None else lines
        for raw, one in earlier if everything and lines is None else deque(earlier, maxlen=most):
            click.echo(raw if as_json else shown.line(one))
        while not everything:
            sys.stdout.flush()
            Event().wait(EVERY_S)
            for raw, one in _matching(followed, path, filters):
                click.echo(raw if as_json else shown.line(one))


def _opened(path: Path, *, everything: bool) -> FollowedFile:
    try:
        return FollowedFile(path, None if everything else LAST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: expected the file of the request log") from None


def _filters(
    pattern: str | None, client: str | None, verdicts: tuple[str, ...], reasons: tuple[str, ...], slower: str | None
) -> Iterator[_Filter]:
    if pattern is not None:
        matches = matcher(parse_objects(pattern))
        yield lambda one: matches(one.url)
    if client is not None:
        address = client_address(client)
        yield lambda one: one.client == address
    if verdicts:
        yield lambda one: str(one.outcome) in verdicts
    if reasons:
        yield lambda one: one.reason in reasons
    if slower is not None:
        try:
            least_s = values.duration_s(slower)
        except ValueError as error:
            raise InputError(f"--slower {slower}: {error}") from None
        yield lambda one: one.duration_s >= least_s


def _matching(followed: Followed, path: Path | None, filters: list[_Filter]) -> Iterator[tuple[str, Answered]]:
    """Yield the lines that pass all filters. Raises InputError if the log is not in JSON."""
    for raw in followed.lines():
        try:
            one = _decode(raw).answered()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if raw.startswith(b"{") or not raw.strip():  # cut, as when the proxy was killed, or of another program
                continue
            message = f'{path}: its lines are no JSON objects: set log_format = "json" in [proxy]'
            raise InputError(message) from None
        if all(passes(one) for passes in filters):
            yield raw.decode(), one
