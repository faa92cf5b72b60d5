"""`bestbefore hub`: run a proxy that also sends what it refreshes to its subscribers."""

from pathlib import Path

import click

from bestbefore.addon.commands.proxy import proxy_options, run
from bestbefore.policies.dissemination.table import SCHEDULERS


@click.command("hub")
@proxy_options
@click.option("--channel", metavar="URL",
              help="Redis server with the channel, which the edges reach too: rediss://USER:PASSWORD@HOST:PORT/DB "
                   "(default: that of --store).")
@click.option("--bandwidth", metavar="SIZE", help="What is sent to each site, bytes a second (default 64KiB).")
@click.option("--scheduler", metavar="NAME",
              help=f"Rule by which the next object is chosen. Names: {', '.join(SCHEDULERS)} (default gain).")
def command(config_file: Path | None, *, quiet: bool, **options: str | None) -> None:
    """Run a proxy that also sends what it refreshes to its subscribers.

    \b
      openssl rand -hex 32 > channel.key
      bestbefore hub --channel redis://hub.example:6379 --channel-key channel.key --bandwidth 32KiB
      bestbefore proxy --hub redis://hub.example:6379 --channel-key channel.key --subscribe 'pypi.org/simple/*'

    It learns nothing of the requests of its subscribers' clients. docs/hub.md says what is sent, and what an edge takes
    for current.
    """  # noqa: D301 - click keeps lines after a backspace
    run(config_file, options, quiet=quiet, is_hub=True)
