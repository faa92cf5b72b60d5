"""`bestbefore proxy`: run the caching proxy until SIGINT or SIGTERM."""

import asyncio
import contextlib
import functools
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import click

from bestbefore.addon.clock import VARIABLE, Clock, FastClock, clock_from_environment
from bestbefore.addon.commands.completed_values import complete_store, complete_words
from bestbefore.addon.commands.store_flags import COMPLETED_PATH
from bestbefore.addon.config.settings import Address, Settings
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.errors import InputError
from bestbefore.addon.workers.cores import default_workers

_OPTIONS = (
    click.option("--listen", metavar="HOST:PORT", help="Address to listen on (default 127.0.0.1:8080)."),
    click.option("--mode", metavar="forward|reverse:URL", shell_complete=complete_words,
                 help="Forward proxy (default), or reverse proxy of one origin."),
    click.option("--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
                 help="Configuration file in TOML (default: none)."),
    click.option("--store", metavar="embedded|URL", shell_complete=complete_store,
                 help="Embedded store (default), or a Redis server: redis://HOST:PORT/DB."),
    click.option("--state", type=COMPLETED_PATH, metavar="DIR",
                 help="State folder (default $XDG_STATE_HOME/bestbefore)."),
    click.option("--admin", metavar="HOST:PORT|off", shell_complete=complete_words,
                 help="Address of the dashboard, metrics and health (default 127.0.0.1:8081)."),
    click.option("--quiet", is_flag=True, help="Do not log requests on standard output."),
    click.option("--log-format", metavar="line|json|combined|squid|TEMPLATE", shell_complete=complete_words,
                 help="Format of the request log (default line, for people); a template is such as "
                      "'{time} {client} {status} {url}'. docs/observing.md lists its fields."),
    click.option("--log-file", type=COMPLETED_PATH, metavar="FILE",
                 help="Log requests to this file, which SIGHUP opens again (default: standard output)."),
    click.option("--channel-key", "key", type=COMPLETED_PATH, metavar="FILE",
                 help="Key that a hub and its edges share: a file of 32 characters or more."),
)  # fmt: skip


def proxy_options[F: Callable[..., Any]](command: F) -> F:
    """Add the options of a proxy, which a hub has too."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("proxy")
@proxy_options
@click.option("--workers", metavar="N",
              help="Number of processes that serve the address, with one store: 1 to 64 (default: cores, at most 4).")
@click.option("--hub", "channel", metavar="URL",
              help="Take copies from a hub's channel, on a Redis server: rediss://USER:PASSWORD@HOST:PORT/DB.")
@click.option("--subscribe", multiple=True, metavar="PATTERN",
              help="What to take from the hub with each change, such as example.org or 'example.org/feeds/*'; "
                   "may be repeated.")
@click.option("--download", multiple=True, metavar="PATTERN",
              help="What to take from the hub once; may be repeated.")
@click.option("--site", metavar="NAME", help="Site of this edge; the edges of a site share one stream (default all).")
def command(
    config_file: Path | None, *, quiet: bool, subscribe: tuple[str, ...], download: tuple[str, ...], **given: str | None
) -> None:
    """Run the caching proxy until SIGTERM or Ctrl-C.

    \b
      bestbefore proxy
      bestbefore proxy --config proxy.toml --workers 1
      bestbefore proxy --mode reverse:https://www.example.org --listen 127.0.0.1:8080
    """  # noqa: D301 - click keeps lines after a backspace
    options = {**given, "subscribe": list(subscribe), "download": list(download)}
    run(config_file, options, quiet=quiet, is_hub=False)


def run(config_file: Path | None, options: Mapping[str, object], *, quiet: bool, is_hub: bool) -> None:
    """Run a proxy, or a hub, until SIGINT or SIGTERM."""
    if os.environ.get(VARIABLE) and not (options["state"] or options["store"]):
        raise InputError(f"{VARIABLE} needs --state or --store: another clock needs another store")
    clock = clock_from_environment(os.environ)
    watch = ConfigWatch(config_file, options)
    workers = watch.config.settings.workers or (1 if is_hub else default_workers())
    if workers > 1 and is_hub:
        raise InputError("a hub is one process: [proxy] workers must be 1")
    sockets = _passed_sockets(watch.config.settings)
    _log_plainly()
    if isinstance(clock, FastClock):
        click.echo(f"warning: {VARIABLE}: policy time runs {clock.factor:g} times faster than real time", err=True)
    if workers > 1:
        # mitmproxy is imported only here, so that `bestbefore proxy --help` does not import it.
        from bestbefore.addon.workers.supervisor import supervise

        supervise(watch, clock, workers, sockets, log_requests=not quiet)
        return
    with contextlib.suppress(asyncio.CancelledError):  # stopped before it listened
        asyncio.run(_run(watch, clock, sockets, quiet=quiet, is_hub=is_hub))


def _passed_sockets(settings: Settings) -> list[socket.socket]:
    """Return the sockets of a service manager, which take the place of the configured address. Raises InputError."""
    if "LISTEN_FDS" not in os.environ:
        return []
    from bestbefore.addon.proxy.inherited_sockets import passed_sockets

    try:
        sockets = passed_sockets(os.environ)
    except (OSError, ValueError) as error:
        raise InputError(str(error)) from None
    for one in sockets:
        address = Address(*one.getsockname()[:2])
        if not address.is_loopback and settings.allow_clients is None and settings.credentials is None:
            raise InputError(
                f"{address}: the service manager listens beyond loopback, so anyone could use the proxy: set "
                "allow_clients or credentials too"
            )
    return sockets


async def _run(
    watch: ConfigWatch, clock: Clock, sockets: list[socket.socket], *, quiet: bool, is_hub: bool
) -> None:
    starting = asyncio.current_task()
    assert starting is not None
    _on_signal(starting.cancel)
    # mitmproxy is imported only here, so that `bestbefore proxy --help` does not import it.
    from bestbefore.addon.admin.log.output import text_stream
    from bestbefore.addon.admin.server import AdminAddressError
    from bestbefore.addon.hub.companions import of_hub, of_proxy
    from bestbefore.addon.proxy.allocator import limit_retained
    from bestbefore.addon.proxy.mitm.master import end, make_master
    from bestbefore.addon.proxy.service import Service
    from bestbefore.addon.proxy.start_error import StartError
    from bestbefore.addon.store.backend.interface import StoreInputError, StoreUnusableError

    limit_retained()
    try:
        service = Service(watch, clock, log_requests=not quiet, companion=of_hub if is_hub else of_proxy)
    except (OSError, ValueError) as error:  # from the credentials file
        raise InputError(str(error)) from None
    try:
        await service.start()
        settings = service.settings
        greet = functools.partial(_greet, text_stream(settings.log_format, settings.log_file))
        master = make_master(service, greet, sockets)
        _on_signal(master.shutdown)
        ending: list[asyncio.Task[None]] = []
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGTERM,
            lambda: master.shutdown() if ending else ending.append(asyncio.create_task(end(master, service))),
        )
        # Without a log file, a hang-up of a terminal means that it is gone.
        hang_up = service.reopen if settings.log_file is not None or not sys.stdout.isatty() else master.shutdown
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)
        await master.run()
    except StoreInputError as error:
        raise InputError(str(error)) from None
    except (StartError, StoreUnusableError, AdminAddressError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        await service.stop()


def _on_signal(stop: Callable[[], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)


def _greet(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


class _Plain(logging.Formatter):
    """A log formatter of one line per record; with a traceback only if BESTBEFORE_DEBUG is set."""

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Format an exception, as logging asks."""
        return super().formatException(ei) if os.environ.get("BESTBEFORE_DEBUG") else ""


def _log_plainly() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("bestbefore").setLevel(logging.INFO)
