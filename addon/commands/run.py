"""`bestbefore run -- COMMAND`: run a command that uses a running proxy."""

import ipaddress
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn
from urllib.parse import SplitResult

import click

from bestbefore.addon.commands.clients.kept_files import wget_settings
from bestbefore.addon.commands.clients.run_environment import WGET_SETTINGS, run_environment
from bestbefore.addon.commands.clients.running_proxy import certificate_of, proxy_url, shown
from bestbefore.addon.commands.store_flags import COMPLETED_PATH
from bestbefore.addon.config.load import load_config
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy.pages.ca_bundle import BUNDLE_NAME, certificates
from bestbefore.addon.proxy.pages.pages import HOST

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""The exit statuses of env and of shells."""


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--proxy", metavar="URL", help="The proxy (default: at `listen` of --config, http://127.0.0.1:8080).")
@click.option("--ca", "ca_file", type=click.Path(path_type=Path), metavar="FILE",
              help="PEM file with the proxy's certificate, for a proxy of another machine or user "
                   "(default: ca-bundle.pem in the state folder).")
@click.option("--state", type=COMPLETED_PATH, metavar="DIR",
              help="State folder of the proxy (default $XDG_STATE_HOME/bestbefore).")
@click.option("--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Configuration file of the proxy, in TOML (default: none).")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    command: tuple[str, ...], proxy: str | None, ca_file: Path | None, state: str | None, config_file: Path | None
) -> None:
    """Run COMMAND with the variables by which programs use a proxy and trust its certificate.

    \b
      bestbefore run -- pip install requests
      bestbefore run -- sh -c 'npm ci && cargo fetch'

    They are set for curl, git, pip and requests, npm and Node, Cargo, Go, Java and others, and for all that the command
    starts. The proxy must be running. The exit status is that of the command; 127 if there is none of this name.
    """  # noqa: D301 - click keeps lines after a backspace
    settings = load_config(config_file, {"state": state}).settings
    url = proxy_url(proxy, settings)
    file = (settings.state / BUNDLE_NAME if ca_file is None else ca_file).absolute()
    bundle = _trusted(file, certificate_of(url), shown(url))
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "bestbefore"
    trust_store = _trust_store(bundle, folder) if shutil.which("java") else None
    wgetrc = _wget_settings(file, folder) if shutil.which("wget") else None
    environment = run_environment(os.environ, url.geturl(), file, trust_store, wgetrc, is_local=_is_local(url))
    _become(command, environment)


def _trusted(file: Path, certificate: bytes, url: str) -> bytes:
    """Return the bundle in the file. Raises InputError if it lacks the proxy's certificate.

    The certificate came over http, so that it alone is not trusted: anyone could answer at the proxy's address.
    """
    try:
        bundle = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"{file}: {error.strerror}: give the proxy's --state, or its certificate with --ca FILE; "
            f"http://{HOST}/ says how to get it"
        ) from None
    if certificate not in certificates(bundle):
        raise InputError(
            f"{file} does not contain the certificate of the proxy at {url}: give the --state of "
            "that proxy, or its certificate with --ca FILE"
        )
    return bundle


def _trust_store(bundle: bytes, folder: Path) -> Path | None:
    """Return the trust store for Java; None, with a warning, if there can be none."""
    from bestbefore.addon.commands.clients.trust_store import java_trust_store  # cryptography takes 0.1 s

    try:
        return java_trust_store(bundle, folder)
    except (OSError, ValueError) as error:
        click.echo(f"bestbefore run: Java will not trust the proxy: {error}", err=True)
        return None


def _wget_settings(bundle: Path, folder: Path) -> Path | None:
    """Return the settings for wget; None, with a warning, if there can be none."""
    try:
        return wget_settings(Path(os.environ.get(WGET_SETTINGS) or "/etc/wgetrc"), bundle, folder)
    except OSError as error:
        click.echo(f"bestbefore run: wget will not trust the proxy: {error}", err=True)
        return None


def _is_local(url: SplitResult) -> bool:
    try:
        return url.hostname == "localhost" or ipaddress.ip_address(url.hostname or "").is_loopback
    except ValueError:
        return False


def _become(command: tuple[str, ...], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command, so that signals and the exit status are the command's own."""
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606 - a shell would split the words again
    except FileNotFoundError:
        status, why = NOT_FOUND, "no such command"
    except OSError as error:
        status, why = NOT_EXECUTABLE, error.strerror or ""
    click.echo(f"bestbefore run: {command[0]}: {why}", err=True)
    raise click.exceptions.Exit(status)
