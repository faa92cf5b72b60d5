"""`bestbefore restore FILE`: restore what was learnt."""

import asyncio
import json
import os
from contextlib import closing
from itertools import batched
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.clock import Clock, clock_from_environment
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import clock_mark, open_configured_store
from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.errors import InputError
from bestbefore.addon.store.backup.file import BackupFile

BATCH = 100
"""How many entries are written at once."""


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print what was restored as a JSON object.")
def command(file: Path, config_file: Path | None, *, as_json: bool, **options: str | None) -> None:
    """Restore what `bestbefore backup` has saved to FILE; the store is created if there is none.

    The proxy may keep running. What the store has learnt since stays: a history is restored where the store has none or
    an earlier one, and counts where it has none. Restoring twice changes nothing. A damaged file, or one of a newer
    version, is refused, and nothing changes.

    \b
      bestbefore restore --store redis://127.0.0.1/0 bestbefore.bb
    """  # noqa: D301 - click keeps lines after a backspace
    clock, config = clock_from_environment(os.environ), load_config(config_file, options)
    try:
        backup = BackupFile(file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    with closing(backup):
        if backup.header.clock != clock_mark(clock):
            raise InputError(
                f"{file}: saved under the clock {backup.header.clock!r}, and this process runs with the clock "
                f"{clock_mark(clock)!r} (BESTBEFORE_CLOCK)"
            )
        asyncio.run(_restore(file, backup, config, clock, as_json=as_json))


async def _restore(file: Path, backup: BackupFile, config: Config, clock: Clock, *, as_json: bool) -> None:
    objects = counts = 0
    async with open_configured_store(config, clock) as store:
        for entries in batched(backup, BATCH):
            try:
                records, keys = await store.restore(entries)
            except ValueError as error:
                raise InputError(f"{file}: {error}") from None
            objects, counts = objects + records, counts + keys
    if as_json:
        saved = {"file": str(file), "saved": utc(backup.header.time_s), "objects": objects, "counts": counts}
        click.echo(json.dumps(saved))
    else:
        of = f"of {backup.entries} entries, saved {utc(backup.header.time_s)}"
        click.echo(f"restored {objects} histor{'y' if objects == 1 else 'ies'} and {counts} of counts and plans, {of}")
