"""`bestbefore backup FILE`: save what was learnt."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import click

from bestbefore.addon.admin.units import size
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import clock_mark, config_and_clock, open_configured_store
from bestbefore.addon.config.load import Config
from bestbefore.addon.errors import InputError
from bestbefore.addon.store.backend.keys import SCHEMA
from bestbefore.addon.store.backup.entries import Entry, Header, SavedRecord
from bestbefore.addon.store.backup.file import is_backup, write_backup


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print what was saved as a JSON object.")
def command(file: Path, config_file: Path | None, *, as_json: bool, **options: str | None) -> None:
    """Save what was learnt to FILE: histories, counts, groups, demand, plans; no copies and no settings.

    The proxy may keep running. FILE is replaced when all is written; only its owner can read it.

    \b
      bestbefore backup /var/backups/bestbefore.bb
      bestbefore restore --state NEW /var/backups/bestbefore.bb
    """  # noqa: D301 - click keeps lines after a backspace
    config, clock = config_and_clock(config_file, options)
    if file.is_dir():
        raise InputError(f"{file}: is a folder")
    if file.exists() and not is_backup(file):
        raise InputError(f"{file}: exists and is no backup: give another name")
    asyncio.run(_save(file, config, clock, as_json=as_json))


async def _save(file: Path, config: Config, clock: Clock, *, as_json: bool) -> None:
    objects = 0

    async def counted(entries: AsyncIterator[Entry]) -> AsyncIterator[Entry]:
        nonlocal objects
        async for entry in entries:
            objects += isinstance(entry, SavedRecord)
            yield entry

    header = Header(SCHEMA, clock_mark(clock), clock.now())
    async with open_configured_store(config, clock) as store:
        try:
            size_bytes = await write_backup(file, header, counted(store.saved()))
        except OSError as error:
            raise click.ClickException(f"{file}: {error.strerror or error}") from None
    if as_json:
        click.echo(json.dumps({"file": str(file), "objects": objects, "bytes": size_bytes}))
    else:
        click.echo(f"{file}: {objects} object{'' if objects == 1 else 's'}, {size(size_bytes)}")
