"""`bestbefore purge URL|HOST|PATTERN`: remove copies."""

import asyncio
import json
from pathlib import Path

import click

from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import (
    config_and_clock,
    open_configured_store,
    parse_objects,
)
from bestbefore.addon.config.load import Config


@click.command("purge")
@click.argument("objects", metavar="URL|HOST|PATTERN")
@store_options
@click.option("--dry-run", is_flag=True, help="List the objects with such copies, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(
    objects: str, config_file: Path | None, *, dry_run: bool, as_json: bool, **options: str | None
) -> None:
    """Remove the copies of one object or of many; their histories stay.

    A PATTERN is as in the configuration, such as '*.example.org/feeds/*', or a URL with * for any text. The
    proxy may keep running; it serves none of these copies any more.

    \b
      bestbefore purge http://www.example.org/page
      bestbefore purge --dry-run '*.example.org/feeds/*'
    """  # noqa: D301 - click keeps lines after a backspace
    named = parse_objects(objects)
    purging = _list if dry_run else _purge
    asyncio.run(purging(named, *config_and_clock(config_file, options), as_json=as_json))


async def _purge(objects: str, config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        count = await store.purge(objects)
    click.echo(json.dumps({"purged": count}) if as_json else f"purged the copies of {_number(count)}")


async def _list(objects: str, config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        urls = sorted([url async for url in store.copied(objects)])
    if as_json:
        click.echo(json.dumps({"would_purge": len(urls), "urls": urls}))
        return
    for url in urls:
        click.echo(plain_word(url))
    click.echo(f"would purge the copies of {_number(len(urls))}")


def _number(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"
