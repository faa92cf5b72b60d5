"""`bestbefore forget URL|HOST|PATTERN`: remove copies and histories, or what is logged of a client."""

import asyncio
import json
from pathlib import Path

import click

from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.clients.address import client_address
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import (
    config_and_clock,
    open_configured_store,
    parse_objects,
)
from bestbefore.addon.config.load import Config
from bestbefore.addon.proxy.identity import read_identity
from bestbefore.addon.proxy.start_error import StartError
from bestbefore.addon.store.cache.tombstones import matcher
from bestbefore.addon.traffic.files import TrafficFiles
from bestbefore.addon.traffic.log import client_names


@click.command("forget")
@click.argument("objects", metavar="[URL|HOST|PATTERN]", required=False)
@click.option("--client", metavar="ADDRESS", help="Remove the logged requests of the client at this address.")
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(
    objects: str | None, client: str | None, config_file: Path | None, *, as_json: bool, **options: str | None
) -> None:
    """Remove the copies and histories of one object or of many, and their requests from the traffic log.

    A PATTERN is as in the configuration, such as '*.example.org/feeds/*', or a URL with * for any text. The
    proxy may keep running; it starts to learn again.

    \b
      bestbefore forget '*.example.org'
      bestbefore forget --client 192.0.2.7      # its lines in the traffic log, by address or hash
    """  # noqa: D301 - click keeps lines after a backspace
    if (objects is None) == (client is None):
        raise click.UsageError("expected either URL|HOST|PATTERN or --client ADDRESS")
    if client is not None:
        address = client_address(client)
        config, clock = config_and_clock(config_file, options)
        _forget_client(address, config, clock, as_json=as_json)
    elif objects is not None:
        named = parse_objects(objects)
        asyncio.run(_forget(named, *config_and_clock(config_file, options), as_json=as_json))


async def _forget(objects: str, config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        count = await store.forget(objects)
        # A running proxy removes them from its log too, but perhaps none runs.
        requests = TrafficFiles(config.settings.state).forget(matcher(objects), clock.now())
    if as_json:
        click.echo(json.dumps({"objects": count, "requests": requests}))
        return
    logged = f" and {_requests(requests)}" if requests else ""
    click.echo(f"forgot {count} object{'' if count == 1 else 's'}{logged}")


def _forget_client(address: str, config: Config, clock: Clock, *, as_json: bool) -> None:
    state = config.settings.state
    try:
        names = {address, client_names("hash", read_identity(state)[1])(address)}
        requests = TrafficFiles(state).forget_clients(names, clock.now())
    except StartError as error:
        raise click.ClickException(str(error)) from None
    click.echo(json.dumps({"requests": requests}) if as_json else f"forgot {_requests(requests)}")


def _requests(count: int) -> str:
    return f"{count} logged request{'' if count == 1 else 's'}"
