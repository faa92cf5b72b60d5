"""`bestbefore forget URL|HOST|PATTERN`: remove copies and histories."""

import asyncio
from pathlib import Path

import click

from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_options import (
    config_and_clock,
    open_configured_store,
    parse_objects,
    store_options,
)
from bestbefore.addon.config.load import Config
from bestbefore.addon.store.cache.tombstones import matcher
from bestbefore.addon.traffic.files import TrafficFiles


@click.command("forget")
@click.argument("objects", metavar="URL|HOST|PATTERN")
@store_options
def command(objects: str, config_file: Path | None, **options: str | None) -> None:
    """Remove the copies and histories of one object or of many, and their requests from the traffic log.

    A PATTERN is as in the configuration, such as '*.example.org/feeds/*', or a URL with * for any text. The
    proxy may keep running; it starts to learn again.
    """
    named = parse_objects(objects)
    asyncio.run(_forget(named, *config_and_clock(config_file, options)))


async def _forget(objects: str, config: Config, clock: Clock) -> None:
    async with open_configured_store(config, clock) as store:
        count = await store.forget(objects)
        # A running proxy removes them from its log too, but perhaps none runs.
        requests = TrafficFiles(config.settings.state).forget(matcher(objects), clock.now())
    logged = f" and {requests} logged request{'' if requests == 1 else 's'}" if requests else ""
    click.echo(f"forgot {count} object{'' if count == 1 else 's'}{logged}")
