"""The store of a proxy, running or not, as the commands that work on it open it."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click

from bestbefore.addon.clock import Clock, FastClock, clock_from_environment
from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.errors import InputError
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.interface import (
    CommandError,
    StoreInputError,
    StoreUnusableError,
    UnavailableError,
    UnwritableError,
)
from bestbefore.addon.store.cache.tombstones import matcher, names_one
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store

STORE_FOLDER = "valkey"
"""Of a state folder; the embedded store makes it."""

_OPTIONS = (
    click.option("--state", metavar="DIR", help="Folder of the proxy's state (default $XDG_STATE_HOME/bestbefore)."),
    click.option("--store", metavar="STORE", help="embedded, or the URL of a Redis server."),
    click.option(
        "--config", "config_file", type=click.Path(path_type=Path), help="The proxy's configuration file (TOML)."
    ),
)


def store_options[F: Callable[..., Any]](command: F) -> F:
    """The options that say which store is meant: --state, --store and --config (as `config_file`)."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def config_and_clock(config_file: Path | None, options: Mapping[str, str | None]) -> tuple[Config, Clock]:
    """What these options and the environment say. Raises InputError; also where no proxy has run yet."""
    try:
        clock = clock_from_environment(os.environ)
    except ValueError as error:
        raise InputError(str(error)) from None
    config = load_config(config_file, options)
    # Opening a store makes what is missing, and closes its folder to others: not for a folder that was mistyped.
    if config.settings.store == "embedded" and not (config.settings.state / STORE_FOLDER).is_dir():
        raise InputError(f"{config.settings.state}: there is no store: no proxy has run with this state folder")
    return config, clock


@asynccontextmanager
async def opened_store(config: Config, clock: Clock) -> AsyncIterator[Store]:
    """The store of the configuration, shared with the proxy that has it open, if there is one.

    Raises InputError and ClickException; what goes wrong with the store while it is open becomes one of them too.
    """
    try:
        store = await open_store(
            config.settings.store,
            clock=clock,
            domain_of=registrable_domain,
            state=config.settings.state,
            clock_mark="accelerated" if isinstance(clock, FastClock) else "real",
            store_max=config.settings.store_max,
            join=True,
        )
        try:
            if store.status().down:
                raise click.ClickException("the store does not answer")
            yield store
        finally:
            await store.close()
    except StoreInputError as error:
        raise InputError(str(error)) from None
    except (StoreUnusableError, UnavailableError, CommandError) as error:
        raise click.ClickException(str(error)) from None
    except UnwritableError as error:
        raise click.ClickException(f"the store refuses to write: {error}") from None


def objects_named(text: str) -> str:
    """What a user calls some objects by (a URL, a URL with `*`, a host, a pattern), as the store takes it.

    URLs are stored as `Target` writes them, and scheme and host are no one's to get the case wrong of. Raises
    InputError for text that names no objects.
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
