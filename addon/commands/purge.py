"""`bestbefore purge URL|HOST|PATTERN`: remove copies."""

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


@click.command("purge")
@click.argument("objects", metavar="URL|HOST|PATTERN")
@store_options
def command(objects: str, config_file: Path | None, **options: str | None) -> None:
    """Remove the copies of one object or of many; their histories stay.

    A PATTERN is as in the configuration, such as '*.example.org/feeds/*', or a URL with * for any text. The
    proxy may keep running; it serves none of these copies any more.
    """
    named = parse_objects(objects)
    asyncio.run(_purge(named, *config_and_clock(config_file, options)))


async def _purge(objects: str, config: Config, clock: Clock) -> None:
    async with open_configured_store(config, clock) as store:
        count = await store.purge(objects)
    click.echo(f"purged the copies of {count} object{'' if count == 1 else 's'}")
