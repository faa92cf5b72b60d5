"""`bestbefore show [URL]`: show what was learnt about an object, or about those most requested."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import click
from click.core import ParameterSource

from bestbefore.addon.admin.report import ListedObject, ObjectReport
from bestbefore.addon.admin.show import list_text, object_text
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import config_and_clock, open_configured_store
from bestbefore.addon.config.load import Config
from bestbefore.addon.errors import InputError
from bestbefore.addon.hub.show import channel_text
from bestbefore.addon.hub.wire.channel import SiteChannel, sites
from bestbefore.addon.hub.wire.link import input_error
from bestbefore.addon.reports.objects import ObjectReports, UnknownObjectError
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import CommandError, StoreInputError, UnavailableError, UnwritableError

LISTED = 20
SORTED = 1_000
"""How many of the most requested objects are sorted by something else."""
ORDERS: Mapping[str, Callable[[ListedObject], object]] = {
    "requests": lambda one: -one.requests,
    "contacts": lambda one: -one.contacts,
    "unchanged": lambda one: -one.unchanged,
    "updates": lambda one: -one.updates,
    "next": lambda one: math.inf if one.next_check_s is None else one.next_check_s,
    "url": lambda one: one.url,
}
"""The orders of the list: the most first, but for `next` (the next check) and `url`."""


@click.command("show")
@click.argument("url", required=False)
@store_options
@click.option("--hub", metavar="URL",
              help="Show what a hub sends and who waits for what, from its channel: rediss://USER:PASSWORD@HOST:PORT/DB.")
@click.option("--limit", type=click.IntRange(1), metavar="N", default=LISTED, show_default=True,
              help="Number of objects in the list.")
@click.option("--sort", type=click.Choice(list(ORDERS)), default="requests", show_default=True,
              help=f"Order of the list; other than by requests, of the {SORTED:,} most requested.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line; times are in Unix seconds.")
def command(
    url: str | None, config_file: Path | None, hub: str | None, limit: int, sort: str, *, as_json: bool,
    **options: str | None,
) -> None:
    """Show what was learnt about URL; without it, about the most requested objects.

    The proxy may keep running. Give the same --config as to the proxy: its rules apply.

    \b
      bestbefore show --limit 100 --sort unchanged
      bestbefore show http://www.example.org/feed.xml --json | jq .observed.updates
    """  # noqa: D301 - click keeps lines after a backspace
    given = click.get_current_context().get_parameter_source
    for option in ("limit", "sort"):
        if (url is not None or hub is not None) and given(option) is ParameterSource.COMMANDLINE:
            raise InputError(f"--{option} is of the list, which is shown without URL and --hub")
    if hub is not None:
        if url is not None:
            raise InputError("URL and --hub exclude each other")
        asyncio.run(_show_hub(hub, as_json=as_json))
        return
    try:
        target = None if url is None else Target.parse(url)
    except ValueError as error:
        raise InputError(str(error)) from None
    config, clock = config_and_clock(config_file, options)
    listing = _Listing(limit, sort)
    asyncio.run(_show(target, listing, config, clock, as_json=as_json))


class _Listing(NamedTuple):
    """Which objects are listed, without a URL."""

    limit: int
    sort: str

    async def of(self, reports: ObjectReports) -> list[ListedObject]:
        considered = self.limit if self.sort == "requests" else max(self.limit, SORTED)
        objects = await reports.most_requested(considered)
        return sorted(objects, key=ORDERS[self.sort])[: self.limit]  # type: ignore[arg-type]


async def _show(target: Target | None, listing: _Listing, config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        reports = ObjectReports(store, config.rules, clock.now(), config.websub.callback_url)
        if target is None:
            objects = await listing.of(reports)
            text = "".join(map(_json_line, objects)) if as_json else list_text(objects, reports.now_s)
        else:
            try:
                report = await reports.object(target)
            except UnknownObjectError as error:
                raise click.ClickException(str(error)) from None
            text = _json_line(report) if as_json else object_text(report)
        click.echo(text, nl=False)


async def _show_hub(url: str, *, as_json: bool) -> None:
    connection = None
    try:
        connection = Connection(url)
        await connection.open()
        channels = [SiteChannel(connection, site) for site in await sites(connection)]
        reports = {
            one.site: {**(await one.status() or {}), "subscribed": await one.subscribers()} for one in channels
        }
    except StoreInputError as error:
        raise input_error(error) from None
    except (UnavailableError, UnwritableError, CommandError) as error:
        raise click.ClickException(f"the channel does not answer: {error}") from None
    finally:
        if connection is not None:
            await connection.close()
    click.echo(json.dumps(reports) + "\n" if as_json else channel_text(reports), nl=False)


def _json_line(report: ObjectReport | ListedObject) -> str:
    return json.dumps(asdict(report), allow_nan=False) + "\n"
