"""`bestbefore tunnels`: which clients are tunnelled to which hosts, and why; and the end of that."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from threading import Event

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.clock import clock_from_environment
from bestbefore.addon.commands.clients.address import client_address
from bestbefore.addon.commands.store_flags import COMPLETED_PATH
from bestbefore.addon.config.load import load_config
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy.tunnels.listing import Tunnelled, read_list, request_lift
from bestbefore.addon.rules import HostPattern

_TRIES = 50
_TRY_EVERY_S = 0.1


@click.command("tunnels")
@click.option("--lift", "hosts", metavar="HOST|PATTERN", help="Intercept again: a host, *.DOMAIN, or * for all.")
@click.option("--client", metavar="ADDRESS", help="With --lift: for the clients at this address only.")
@click.option("--state", type=COMPLETED_PATH, metavar="DIR",
              help="State folder of the proxy (default $XDG_STATE_HOME/bestbefore).")
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Configuration file of the proxy, in TOML (default: none).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per tunnel; times are in Unix seconds.")
def command(
    hosts: str | None, client: str | None, state: str | None, config_file: Path | None, *, as_json: bool
) -> None:
    """List the clients that refuse the proxy's certificate for a host, and so are tunnelled to it for an hour.

    A client is an address, the proxy user and the program (a fingerprint of how it begins TLS). A tunnel is
    lifted by --lift, within a second, or when the client first accepts a certificate of the proxy.

    \b
      bestbefore tunnels
      bestbefore tunnels --lift '*.example.org' --client 192.0.2.7
    """  # noqa: D301 - click keeps lines after a backspace
    if client is not None and hosts is None:
        raise click.UsageError("--client needs --lift")
    address = None if client is None else client_address(client)
    folder = load_config(config_file, {"state": state}).settings.state
    try:
        rows = read_list(folder, clock_from_environment(os.environ).now())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: no proxy has run with this state folder") from None
    if hosts is not None:
        _lift(folder, hosts, address, rows, as_json=as_json)
    elif as_json:
        for row in rows:
            click.echo(json.dumps(asdict(row)))
    elif not rows:
        click.echo("nothing is tunnelled because of a refused certificate")
    else:
        for row in rows:
            click.echo(_line(row))


def _lift(folder: Path, hosts: str, client: str | None, rows: list[Tunnelled], *, as_json: bool) -> None:
    try:
        pattern = HostPattern.parse(hosts)
    except ValueError as error:
        raise InputError(str(error)) from None
    count = sum(pattern.matches(row.host) and client in (None, row.client) for row in rows)
    path = request_lift(folder, pattern, client)
    if not _is_taken(path):
        path.unlink(missing_ok=True)
        raise click.ClickException("no proxy runs with this state folder")
    click.echo(json.dumps({"lifted": count}) if as_json else f"lifted {count} tunnel{'' if count == 1 else 's'}")


def _is_taken(path: Path) -> bool:
    """Whether the proxy takes its request."""
    for _ in range(_TRIES):
        if not path.exists():
            return True
        Event().wait(_TRY_EVERY_S)
    return False


def _line(row: Tunnelled) -> str:
    who = f"{row.user}@{row.client}" if row.user else row.client
    return f"{who} (program {row.program}) to {row.host}, from {utc(row.since_s)} to {utc(row.until_s)}: {row.reason}"
