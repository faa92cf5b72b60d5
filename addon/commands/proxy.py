"""`bestbefore proxy`: run the caching proxy until it is told to stop."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bestbefore.addon.clock import VARIABLE, Clock, FastClock, clock_from_environment
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.errors import InputError


@click.command("proxy")
@click.option("--listen", metavar="HOST:PORT", help="Where clients connect (default 127.0.0.1:8080).")
@click.option("--mode", metavar="MODE", help="forward, or reverse:URL to stand in front of one origin.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML).")
@click.option("--store", metavar="STORE", help="embedded, or the URL of a Redis server.")
@click.option("--state", metavar="DIR", help="Folder of all that is kept (default $XDG_STATE_HOME/bestbefore).")
@click.option("--admin", metavar="HOST:PORT", help="Where metrics are served (default 127.0.0.1:8081), or off.")
@click.option("--quiet", is_flag=True, help="No line for each request.")
def command(config_file: Path | None, *, quiet: bool, **options: str | None) -> None:
    """Run the caching proxy."""
    if os.environ.get(VARIABLE) and not (options["state"] or options["store"]):
        raise InputError(f"{VARIABLE} needs --state or --store: a store that ran in another time is kept apart")
    try:
        clock = clock_from_environment(os.environ)
    except ValueError as error:
        raise InputError(str(error)) from None
    watch = ConfigWatch(config_file, options)
    _log_plainly()
    if isinstance(clock, FastClock):
        click.echo(f"warning: {VARIABLE}: time runs {clock.factor:g} times faster than the world's", err=True)
    with contextlib.suppress(asyncio.CancelledError):  # told to stop before it listened
        asyncio.run(_run(watch, clock, quiet=quiet))


async def _run(watch: ConfigWatch, clock: Clock, *, quiet: bool) -> None:
    starting = asyncio.current_task()
    assert starting is not None
    _on_signal(starting.cancel)
    # mitmproxy is imported only here: `bestbefore proxy --help` need not wait for it.
    from bestbefore.addon.admin.server import AdminAddressError
    from bestbefore.addon.prefetcher.prefetcher import Prefetcher
    from bestbefore.addon.proxy.allocator import keep_little
    from bestbefore.addon.proxy.mitm.master import make_master
    from bestbefore.addon.proxy.service import Service
    from bestbefore.addon.proxy.start_error import StartError
    from bestbefore.addon.store.backend.interface import StoreInputError, StoreUnusableError

    keep_little()
    try:
        service = Service(watch, clock, log_requests=not quiet, companion=Prefetcher)
    except (OSError, ValueError) as error:  # the file of credentials
        raise InputError(str(error)) from None
    try:
        await service.start()
        master = make_master(service, _greet)
        _on_signal(master.shutdown)
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


def _greet(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class _Plain(logging.Formatter):
    """One line a record; a traceback only where the user debugs."""

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """logging's method."""
        return super().formatException(ei) if os.environ.get("BESTBEFORE_DEBUG") else ""


def _log_plainly() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("bestbefore").setLevel(logging.INFO)
