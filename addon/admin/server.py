"""The admin server: GET /metrics and GET /healthz, and what is mounted beside them."""

import errno
import ipaddress
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, Self

from aiohttp import web

MAX_BODY_BYTES = 4 << 20
"""The largest form: a configuration file of 1 MiB, each third of whose bytes becomes three in it, has room."""
PORTS_TRIED = 100
"""How many ports are tried, from the default on, if the next free one may be used."""

_LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - no address to listen on

type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
type Health = Callable[[], dict[str, object]]
"""Returns the JSON object for /healthz, which may replace `"status": "ok"`."""
type Mount = Callable[[web.Application], None]
"""Adds pages to an application whose Host field is checked."""
type Refresh = Callable[[], Awaitable[None]]

_logger = logging.getLogger(__name__)


class Exposing(Protocol):
    """Metrics of one process or of several."""

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in the format that an Accept field asks for, and its media type."""


async def _nothing() -> None:
    """Do nothing: metrics of this process are always up to date."""


def _no_pages(application: web.Application) -> None:
    """Add nothing."""


class AdminAddressError(OSError):
    """The server cannot listen on the admin address. The message is for the user."""


class AdminServer:
    """A running server of metrics and health. Must be closed."""

    def __init__(self, runner: web.AppRunner, host: str, port: int) -> None:
        self._runner = runner
        self.host = host
        self.port = port
        """The actual port; it differs from the configured one if that was taken or 0."""

    @classmethod
    async def start(
        cls,
        host: str,
        port: int,
        metrics: Exposing,
        health: Health,
        *,
        next_free: bool,
        refresh: Refresh = _nothing,
        mount: Mount = _no_pages,
    ) -> Self:
        """Listen on this address, or with `next_free` on the first free port from `port` on.

        `refresh` brings `metrics` and `health` up to date before they are read. `mount` adds pages. Raises
        AdminAddressError if it is not possible to listen.
        """
        runner = web.AppRunner(
            _application(host, metrics, health, refresh, mount),
            access_log=None,
            logger=_logger,
            shutdown_timeout=1.0,
        )
        await runner.setup()
        last = port if port == 0 or not next_free else min(port + PORTS_TRIED - 1, 65_535)
        for candidate in range(port, last + 1):
            try:
                site = web.TCPSite(runner, host, candidate)
                await site.start()
            except OSError as error:
                if error.errno == errno.EADDRINUSE and candidate < last:
                    continue
                await runner.cleanup()
                raise _explained(error, host, candidate) from None
            break
        return cls(runner, host, runner.addresses[0][1])

    @property
    def url(self) -> str:
        """The URL of the server on this machine."""
        return url_of(self.host, self.port)

    async def close(self) -> None:
        """Stop listening and close all connections, within a second."""
        await self._runner.cleanup()


def _application(
    host: str, metrics: Exposing, health: Health, refresh: Refresh, mount: Mount
) -> web.Application:
    async def show_metrics(request: web.Request) -> web.Response:
        await refresh()
        body, content_type = metrics.exposition(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    async def show_health(request: web.Request) -> web.Response:  # noqa: ARG001
        await refresh()
        return web.json_response({"status": "ok", **health()}, headers={"Cache-Control": "no-store"})

    @web.middleware
    async def check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_host_allowed(request.headers.getall("Host", []), host):
            raise web.HTTPForbidden(text="403: the Host field names neither this address nor localhost\n")
        return await handler(request)

    async def add_fields(request: web.Request, response: web.StreamResponse) -> None:  # noqa: ARG001
        response.headers["Server"] = "bestbefore"  # and no versions
        response.headers["X-Content-Type-Options"] = "nosniff"

    application = web.Application(middlewares=[check_host], client_max_size=MAX_BODY_BYTES)
    application.router.add_get("/metrics", show_metrics, allow_head=False)
    application.router.add_get("/healthz", show_health, allow_head=False)
    mount(application)
    application.on_response_prepare.append(add_fields)
    return application


def url_of(host: str, port: int) -> str:
    """Return the URL at which this machine reaches a server that listens there: for all addresses, that of loopback.

    Browsers say where a request comes from (`Sec-Fetch-Site`) to loopback addresses, and not to 0.0.0.0.

    >>> url_of("0.0.0.0", 8081), url_of("::", 8081), url_of("192.0.2.1", 8081)
    ('http://127.0.0.1:8081', 'http://[::1]:8081', 'http://192.0.2.1:8081')
    """
    return f"http://{_authority(_LOOPBACK_OF.get(host, host), port)}"


def is_host_allowed(values: list[str], configured: str) -> bool:
    """Whether a request with these Host fields is allowed, which prevents DNS rebinding.

    There must be exactly one: an IP address, localhost or the configured name, with or without port.

    In DNS rebinding a web page makes its own name resolve to 127.0.0.1, to read responses as of its own origin. The
    browser then sends that name as Host.
    """
    if len(values) != 1:
        return False
    value = values[0].strip().lower()
    host = value[1:].partition("]")[0] if value.startswith("[") else value.partition(":")[0].removesuffix(".")
    if host in ("localhost", configured.lower()):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _explained(error: OSError, host: str, port: int) -> AdminAddressError:
    reason = "the port is in use" if error.errno == errno.EADDRINUSE else (error.strerror or str(error))
    return AdminAddressError(f"cannot listen on the admin address {_authority(host, port)}: {reason}")


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _without_traceback(record: logging.LogRecord) -> bool:
    """Remove tracebacks from log records, as aiohttp logs one for each malformed request."""
    if record.exc_info and record.exc_info[0]:
        record.msg, record.args = f"admin address: {record.getMessage()}: {record.exc_info[0].__name__}", ()
        record.exc_info = None
    return True


_logger.addFilter(_without_traceback)
