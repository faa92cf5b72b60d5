"""The set-up of a connection to an origin: name resolution, TLS, and the tunnel through a parent proxy."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohappyeyeballs import start_connection
from cachetools import TTLCache

from bestbefore.addon.config.settings import Server
from bestbefore.addon.proxy.access.access import is_local
from bestbefore.addon.proxy.access.reach import EVERYWHERE, Reach, range_of
from bestbefore.addon.proxy.origin.connect_error import explain_tls, explain_unreachable
from bestbefore.addon.proxy.origin.connection import OriginConnection
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.framing import MalformedError
from bestbefore.addon.proxy.origin.reader import End, Final, ResponseReader
from bestbefore.addon.rules import Trust

logger = logging.getLogger(__name__)

MAX_CACHED_NAMES = 4096
NAME_TTL_S = 10.0
"""How long the addresses of a name are cached."""
SECOND_ADDRESS_S = 0.25
"""How long after the first address of a name the next is tried in parallel (RFC 8305)."""

type AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]]
"""An address as getaddrinfo gives it."""


class Connector:
    """Opens connections to origins."""

    def __init__(
        self,
        context: Callable[[Trust], ssl.SSLContext],
        trust_of: Callable[[str], Trust],
        parent: Server | None = None,
    ) -> None:
        """`context` returns the TLS context for a trust, `trust_of` how the certificate of a host is verified."""
        self._context = context
        self._trust_of = trust_of
        self._parent = parent
        self._names: TTLCache[tuple[str, int], list[AddressInfo]] = TTLCache(MAX_CACHED_NAMES, NAME_TTL_S)

    async def connect(self, scheme: str, host: str, port: int, reach: Reach, within_s: float) -> OriginConnection:
        """Connect to an origin, or for plain HTTP to the parent proxy. Raises OriginError."""
        try:
            async with asyncio.timeout(within_s):
                if self._parent is None:
                    return await self._directly(scheme, host, port, reach)
                return await self._through_parent(self._parent, scheme, host, port)
        except TimeoutError:
            raise OriginError(Failure.TIMEOUT, f"{host} cannot be reached in time") from None

    async def _directly(self, scheme: str, host: str, port: int, reach: Reach) -> OriginConnection:
        tls = scheme == "https"
        with _explained(host, port):
            opened = await start_connection(
                [*await self.addresses(host, port, reach)], happy_eyeballs_delay=SECOND_ADDRESS_S
            )
            return await self._made(opened, host if tls else None)

    async def _made(self, opened: socket.socket, tls_host: str | None) -> OriginConnection:
        """Return a connection on an open socket."""
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: OriginConnection(tls=tls_host is not None),
                sock=opened,
                ssl=self._tls(tls_host) if tls_host is not None else None,
                server_hostname=tls_host,
            )
        except BaseException:
            opened.close()
            raise
        return connection

    def _tls(self, host: str) -> ssl.SSLContext:
        return self._context(self._trust_of(host))

    async def addresses(self, host: str, port: int, reach: Reach) -> list[AddressInfo]:
        """Return the addresses of a host that `reach` allows. They are checked for each connection."""
        addresses = self._names.get((host, port)) if reach == EVERYWHERE else None
        if addresses is None:
            addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)  # type: ignore[assignment]
            assert addresses is not None
            if reach == EVERYWHERE:
                self._names[host, port] = addresses
        allowed = [entry for entry in addresses if reach.allows(entry[4][0])]
        if not allowed:
            raise OriginError(Failure.UNREACHABLE, out_of_reach(host, addresses[0][4][0] if addresses else host))
        return allowed

    async def _through_parent(self, parent: Server, scheme: str, host: str, port: int) -> OriginConnection:
        """Connect to the parent proxy; for https, through a tunnel."""
        # A parent proxy is the operator's choice, at any address.
        connection = await self._directly(parent.scheme, parent.host, parent.port, EVERYWHERE)
        if scheme != "https":
            return connection
        try:
            with _explained(host, port):
                return await self._tunnelled(connection, host, port)
        except BaseException:
            connection.abort()
            raise

    async def _tunnelled(self, connection: OriginConnection, host: str, port: int) -> OriginConnection:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        head = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode("latin-1", "replace")
        transport, tunnel = connection.transport, _Tunnel()
        transport.set_protocol(tunnel)
        transport.write(head)
        await tunnel.opened
        inner = OriginConnection(tls=True)
        encrypted = await asyncio.get_running_loop().start_tls(transport, inner, self._tls(host), server_hostname=host)
        if encrypted is None:
            raise OriginError(Failure.UNREACHABLE, "the parent proxy closed the tunnel")
        inner.connection_made(encrypted)
        return inner


class _Tunnel(asyncio.Protocol):
    """Reads the parent's response to CONNECT."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = ResponseReader("HEAD")  # a response to CONNECT that opens a tunnel has no content

    def data_received(self, data: bytes) -> None:
        if self.opened.done():
            return
        try:
            events = self._reader.feed(data)
        except MalformedError as error:
            self._fail(f"the parent proxy's answer could not be read: {error}")
            return
        for event in events:
            if isinstance(event, Final) and not 200 <= event.head.status < 300:
                self._fail(f"the parent proxy opens no tunnel: it answers {event.head.status}")
            elif isinstance(event, End) and not self.opened.done():
                if event.unexpected_data:
                    self._fail("the parent proxy sent something before the tunnel was used")
                else:
                    self.opened.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._fail("the parent proxy closed the connection early")

    def _fail(self, why: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(OriginError(Failure.UNREACHABLE, why))


@contextmanager
def _explained(host: str, port: int) -> Iterator[None]:
    """Raise an OriginError with a sentence for users in place of other errors."""
    try:
        yield
    except (OriginError, TimeoutError):
        raise
    except ssl.SSLError as error:
        logger.debug("TLS with %s:%d failed: %s", host, port, error)
        raise OriginError(Failure.TLS, *explain_tls(error, host)) from error
    except (OSError, UnicodeError, RuntimeError) as error:  # RuntimeError: descriptor in use
        logger.debug("%s:%d cannot be reached: %s", host, port, error)
        raise OriginError(Failure.UNREACHABLE, *explain_unreachable(error, host, port)) from error


def out_of_reach(host: str, address: str) -> str:
    """Return why a host may not be contacted."""
    where = "this machine" if is_local(address) else f"a private network ({range_of(address)})"
    return f"{host} is an address of {where}"
