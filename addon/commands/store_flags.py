"""The options that name the store of a proxy, without what opens it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bestbefore.addon.commands.completed_values import complete_store

COMPLETED_PATH = click.Path(readable=False)
"""The type of a path that shells complete. It remains text, which is checked together with the configuration."""

_OPTIONS = (
    click.option(
        "--state", type=COMPLETED_PATH, metavar="DIR",
        help="State folder of the proxy (default $XDG_STATE_HOME/bestbefore).",
    ),
    click.option(
        "--store", metavar="embedded|URL", shell_complete=complete_store,
        help="Embedded store (default), or a Redis server: redis://HOST:PORT/DB.",
    ),
    click.option(
        "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
        help="Configuration file of the proxy, in TOML (default: none).",
    ),
)


def store_options[F: Callable[..., Any]](command: F) -> F:
    """Add the options that name a store: --state, --store and --config (as `config_file`)."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
