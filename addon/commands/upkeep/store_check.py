"""The check of the store, as the proxy would open it."""

from collections.abc import AsyncIterator

import click

from bestbefore.addon.admin.units import span
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_options import STORE_FOLDER, open_configured_store
from bestbefore.addon.commands.upkeep.finding import Finding
from bestbefore.addon.config.load import Config
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import CommandError, StoreInputError, UnavailableError, UnwritableError

AHEAD_S = 5.0
"""How much the clock of a Redis server may differ before that is worth saying, seconds."""


async def store_findings(config: Config, clock: Clock) -> AsyncIterator[Finding]:
    """Yield the findings on the configured store, which is opened beside a running proxy; nothing is written."""
    settings = config.settings
    if settings.store == "embedded" and not (settings.state / STORE_FOLDER).is_dir():
        yield Finding("store", "ok", "embedded; the first proxy creates it")
        return
    place = "embedded" if settings.store == "embedded" else settings.store.rpartition("@")[2]
    try:
        async with open_configured_store(config, clock) as store:
            top = await store.top(1)
            known = "something was learnt" if top else "nothing was learnt yet"
            yield Finding("store", "ok", f"{place}: opens; {known}")
    except click.ClickException as error:
        advice = "until it answers the proxy learns in memory" if "does not answer" in error.message else ""
        yield Finding("store", "failed", error.format_message(), advice)
        return
    if settings.store != "embedded":
        async for finding in _server_findings(settings.store, clock):
            yield finding


async def _server_findings(url: str, clock: Clock) -> AsyncIterator[Finding]:
    """Yield warnings on a user's own server: its eviction, its persistence, its clock."""
    connection = None
    try:
        connection = Connection(url)
        await connection.open()
        for warning in await connection.warnings():
            yield Finding("store", "warning", warning, "change its configuration")
        seconds, microseconds = await connection.ask("TIME")
        ahead_s = int(seconds) + int(microseconds) / 1e6 - clock.now()
        if abs(ahead_s) > AHEAD_S:
            found = f"its clock is {span(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} this machine's"
            yield Finding("clock", "warning", found, "see that NTP runs on both")
    except (StoreInputError, UnavailableError, UnwritableError, CommandError) as error:
        yield Finding("store", "warning", f"its settings cannot be read: {error}")
    finally:
        if connection is not None:
            await connection.close()
