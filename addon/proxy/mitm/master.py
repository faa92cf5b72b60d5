"""A mitmproxy master with the few addons that a caching proxy needs.

With mitmproxy's default addons, half of the time of a request would be spent on dispatching hooks to them.
"""

import asyncio
import errno
import logging
import os
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from mitmproxy import ctx, options

from bestbefore.addon.admin.units import span
from bestbefore.addon.config.proxy_section import default_state
from bestbefore.addon.config.settings import Address, Settings
from bestbefore.addon.errors import reason_of
from bestbefore.addon.proxy.inherited_sockets import accept_from
from bestbefore.addon.proxy.lean_mitmproxy import Master, core, disable_h2c, next_layer, proxyserver, tlsconfig
from bestbefore.addon.proxy.mitm.hooks import BestBefore
from bestbefore.addon.proxy.mitm.memory import message_checks
from bestbefore.addon.proxy.mitm.wire import internals
from bestbefore.addon.proxy.pages.greeting import greeting, show_command
from bestbefore.addon.proxy.service import CA_FILE, Service
from bestbefore.addon.proxy.start_error import StartError

logger = logging.getLogger(__name__)


class _Errors(logging.Handler):
    """Keeps the messages of errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.messages.append(reason_of(error) if isinstance(error, OSError) else record.getMessage())


class ErrorCheck:
    """Stops the master if an error was logged during the start, such as a port in use.

    Replaces mitmproxy's addon of this name, which would print the error and exit the process.
    """

    def __init__(self) -> None:
        self._errors = _Errors()
        self._logger = logging.getLogger("mitmproxy")
        self._logger.addHandler(self._errors)
        self._logger.propagate = False  # the StartError reports the error

    async def shutdown_if_errored(self) -> None:
        """mitmproxy's method, called between the steps of the start."""
        await asyncio.sleep(0)
        for server in ctx.master.addons.get("proxyserver").servers:
            if isinstance(server.last_exception, OSError):
                address = Address(ctx.options.listen_host, ctx.options.listen_port)
                raise StartError(listening_error(address, server.last_exception))
        if self._errors.messages:
            raise StartError(self._errors.messages[0].partition("\n")[0].removeprefix("Addon error: "))

    def finish(self) -> None:
        """mitmproxy's method, called when the start is over."""
        self._logger.propagate = True
        self._logger.removeHandler(self._errors)


def listening_error(address: Address, error: OSError) -> str:
    """Return the message for an address on which the proxy cannot listen."""
    return f"cannot listen on {address}: {_reason(error)}"


def _reason(error: OSError) -> str:
    """Return why the proxy cannot listen on an address. The messages of asyncio and mitmproxy repeat themselves."""
    if error.errno == errno.EADDRINUSE:
        return "the port is in use"
    known = error.errno in errno.errorcode  # errors of name resolution have other numbers
    return os.strerror(error.errno) if error.errno and known else str(error.__cause__ or error)


def make_master(service: Service, greet: Callable[[str], None], sockets: Sequence[socket.socket] = ()) -> Master:
    """Return a master for a service that has been started. Must be called in the event loop that will run the master.

    `greet` is called with a text for the user once the proxy listens. `sockets` already listen; if there are none, the
    master listens on the address of the settings.
    """
    settings = service.settings
    if sockets:
        accept_from(sockets)
    if not internals.is_known():
        logger.warning(internals.UNKNOWN)
    message_checks.leave_out()
    made = Master(options.Options(confdir=str(settings.state), listen_host=settings.listen.host))
    made.addons.add(
        core.Core(),
        proxyserver.Proxyserver(),
        next_layer.NextLayer(),
        tlsconfig.TlsConfig(),
        disable_h2c.DisableH2C(),
        ErrorCheck(),
        BestBefore(service, lambda bundle: greet(_greeting(service, made, bundle))),
    )
    made.options.update(
        listen_port=settings.listen.port,
        mode=[_mode(settings)],
        connection_strategy="lazy",  # a hit on HTTPS opens no connection
        upstream_cert=False,  # nor does the certificate that the client gets for it
        tcp_timeout=max(1, round(settings.idle_timeout)),
    )
    roots = ssl.get_default_verify_paths()
    if roots.cafile or roots.capath:
        # The system's CA certificates, as the proxy's own client uses, rather than those bundled with mitmproxy.
        made.options.update(
            ssl_verify_upstream_trusted_ca=roots.cafile, ssl_verify_upstream_trusted_confdir=roots.capath
        )
    return made


async def accept_no_more(master: Master) -> None:
    """Accept no further connections."""
    for server in master.addons.get("proxyserver").servers:
        if server.is_running:
            await server.stop()


async def end(master: Master, service: Service) -> None:
    """Accept no further connections, answer the requests in progress, and stop the master."""
    await accept_no_more(master)
    await service.drain()
    master.shutdown()


def _mode(settings: Settings) -> str:
    if settings.mode is not None:
        return f"reverse:{settings.mode}"
    if settings.upstream is not None:
        return f"upstream:{settings.upstream}"
    return "regular"


def _greeting(service: Service, master: Master, bundle: Path) -> str:
    server = next(iter(master.addons.get("proxyserver").servers))
    host, port = server.listen_addrs[0][:2]
    settings = service.settings
    return greeting(
        proxy_url=f"http://{Address(host, port)}",
        state=settings.state,
        ca_file=settings.state / CA_FILE,
        bundle=bundle,
        admin_url=service.admin_url,
        store=settings.store.rpartition("@")[2],
        traffic=span(settings.traffic_keep) if settings.traffic_log else None,
        workers=service.place.workers,
        show=show_command(settings, default_state(os.environ).absolute(), service.config_file, sys.argv[0]),
    )
