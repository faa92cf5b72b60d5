"""Options that name a store, and its opening, for commands on the store of a proxy."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import click

from bestbefore.addon.clock import Clock, FastClock, clock_from_environment
from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.errors import InputError
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.interface import (
    CommandError,
    StoreInputError,
    StoreUnusableError,
    UnavailableError,
    UnwritableError,
)
from bestbefore.addon.store.cache.notices import silenced
from bestbefore.addon.store.cache.tombstones import matcher, names_one
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store

STORE_FOLDER = "valkey"
"""The folder of the embedded store in the state folder."""

def config_and_clock(config_file: Path | None, options: Mapping[str, str | None]) -> tuple[Config, Clock]:
    """Return configuration and clock by the options and the environment. Raises InputError, also for a new folder."""
    clock = clock_from_environment(os.environ)
    config = load_config(config_file, options)
    # Opening a store creates missing files and restricts the folder's permissions: not in a mistyped folder.
    if config.settings.store == "embedded" and not (config.settings.state / STORE_FOLDER).is_dir():
        raise InputError(f"{config.settings.state}: there is no store in this state folder: no proxy has run with it")
    return config, clock


def clock_mark(clock: Clock) -> str:
    """Return the mark of a kind of clock: a store that has one is refused under another."""
    return "accelerated" if isinstance(clock, FastClock) else "real"


@asynccontextmanager
async def open_configured_store(config: Config, clock: Clock) -> AsyncIterator[Store]:
    """Open the configured store, shared with a running proxy.

    Raises InputError and ClickException, also for errors of the store while it is open.
    """
    try:
        with silenced():  # what it would say of a store that is down is for a proxy
            store = await open_store(
                config.settings.store,
                clock=clock,
                state=config.settings.state,
                clock_mark=clock_mark(clock),
                store_max=config.settings.store_max,
                join=True,
            )
        try:
            if store.status().down:
                place = config.settings.store.rpartition("@")[2]  # without user and password
                raise click.ClickException(f"the store does not answer ({place}): check its URL, and whether it runs")
            yield store
        finally:
            await store.close()
    except StoreInputError as error:
        raise InputError(str(error)) from None
    except (StoreUnusableError, UnavailableError, CommandError) as error:
        raise click.ClickException(str(error)) from None
    except UnwritableError as error:
        raise click.ClickException(f"the store refuses to write: {error}") from None


def parse_objects(text: str) -> str:
    """Convert a user's URL, URL with `*`, host or pattern into a pattern of the store.

    URLs are normalised by `Target`. Raises InputError for other text.
    """
    try:
        if names_one(text):
            return Target.parse(text).url
        scheme, separator, rest = text.partition("://")
        if separator:
            host, slash, path = rest.partition("/")
            text = f"{scheme.lower()}://{host.lower()}{slash}{path}"
        matcher(text)
    except ValueError as error:
        raise InputError(str(error)) from None
    return text
