"""The contact with an origin: one request out, a head and a stream of content back.

Our own fetch rather than mitmproxy's: a failed connection can be answered from the store, interim (1xx) responses do
not end the exchange, connections are shared by all clients, and prefetching uses the same fetch.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

import aiohttp
import certifi
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader
from aiohttp.typedefs import RawHeaders
from yarl import URL

from bestbefore.addon.clock import Clock
from bestbefore.addon.proxy.access import is_local
from bestbefore.addon.proxy.interim import Interim, is_passed_on, nobody
from bestbefore.addon.proxy.reach import EVERYWHERE, Reach, range_of
from bestbefore.addon.rfc9111.message import Fields, Head, Request

CONNECT_TIMEOUT_S = 10.0
SILENCE_TIMEOUT_S = 60.0
"""How long an origin may send nothing, before its head or in mid-body."""
HEAD_LIMIT_BYTES = 64 * 1024
"""Of the fields of a response. (The client library takes 128 lines; each may be so long.)"""
CHUNK_BYTES = 64 * 1024
_BODILESS = frozenset((204, 304))
"""Statuses of responses that have no content, whatever their Content-Length says (RFC 9110 6.4.1)."""


class Failure(StrEnum):
    """Why there is no answer from an origin, or only a part of one."""

    UNREACHABLE = "origin-unreachable"
    TIMEOUT = "origin-timeout"
    TLS = "origin-tls"
    MALFORMED = "origin-malformed"
    RESET = "origin-reset"


class OriginError(ConnectionError):
    """The origin could not be asked, or stopped in mid-answer."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure = failure


class Source(Protocol):
    """Where contacts go: the network, or in a replay the recorded updates."""

    async def fetch(self, request: Request, *, reach: Reach = EVERYWHERE, interim: Interim = nobody) -> "Fetched":
        """See `Origin.fetch`."""


@dataclass(slots=True)
class Fetched:
    """The head of an origin's response, and its content still to be read."""

    head: Head
    request_time_s: float
    """Policy time when the request was sent."""
    response_time_s: float
    """Policy time when the head was complete."""
    chunks: AsyncGenerator[bytes]
    """The content as it was transferred (no content coding is undone). Raises OriginError if it is cut short."""
    length: int | None
    """The length of the content, bytes, where it is known before it is read."""
    close: Callable[[], object] = lambda: None
    """Lets go of the connection, if the content is not read to its end; it does no harm after that."""
    local: bool = False
    """Whether it came from an address that only this machine means."""
    range: str = ""
    """The range of the address that it came from (`reach.range_of`)."""


_interim: ContextVar[Interim] = ContextVar("interim", default=nobody)
"""Of the task that fetches: the client library makes its connections and responses by itself."""

type Respond = Callable[[Request, float], tuple[Head, bytes]]
"""Answers a request at a moment of policy time without any network."""


class _Within(aiohttp.ThreadedResolver):
    """Resolves names to addresses that may be reached, and to no other. Names are resolved at each connection, so that
    a name whose address changes is looked at again."""

    def __init__(self, reach: Reach) -> None:
        super().__init__()
        self._reach = reach

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        resolved = await super().resolve(host, port, family)
        found = [entry for entry in resolved if self._reach.allows(entry["host"])]
        if not found:
            raise OSError(_out_of_reach(host, resolved[0]["host"] if resolved else host))
        return found


def _out_of_reach(host: str, address: str) -> str:
    found = range_of(address)
    where = "this machine" if is_local(address) else f"a private network ({found})"
    return f"{host} is an address of {where}"


class _Response(aiohttp.ClientResponse):
    """Remembers whom it came from: by the time that its head is there, the connection may be in use again."""

    peer = ""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        peername = connection.transport.get_extra_info("peername") if connection.transport is not None else None
        self.peer = peername[0] if peername else ""
        return await super().start(connection)


class _Reading(ResponseHandler):
    """Tells of interim responses, which the client library passes over, and mends two things of its parser.

    It refuses what follows a complete message, and loses the message with it where both come in one piece: so a head is
    fed to it apart from what follows, and the surplus of an origin that sends more than its Content-Length only closes
    the connection. And content that turns out malformed after its head ends with an error, instead of with a wait.
    """

    def data_received(self, data: bytes) -> None:
        head, end, rest = data.partition(b"\r\n\r\n")
        for _ in range(8):  # interim responses have heads too
            if not rest:
                break
            super().data_received(head + end)
            head, end, rest = rest.partition(b"\r\n\r\n")
        super().data_received(head + end + rest)

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        message, content = await super().read()
        if is_passed_on(message.code):
            _interim.get()(_head(message.code, message.raw_headers, message.reason))
        return message, content

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        content = self._payload
        if content is not None and not content.is_eof():
            content.set_exception(aiohttp.ClientPayloadError("the content is malformed"))


class _Connector(aiohttp.TCPConnector):
    """Without a limit of its own: the clients' connections are the limit."""

    def __init__(self, tls: ssl.SSLContext, resolver: AbstractResolver | None = None) -> None:
        super().__init__(limit=0, ssl=tls, resolver=resolver, use_dns_cache=resolver is None)
        self._factory = partial(_Reading, loop=self._loop)  # type: ignore[assignment]


class Origin:
    """Fetches. Each reach has its own pool of connections, so that none is used by whom it is not for."""

    def __init__(
        self, clock: Clock, *, upstream: str | None = None, verify: bool = True, ca_file: str | None = None
    ) -> None:
        self._clock = clock
        self._upstream = upstream
        self._own: dict[str, Respond] = {}
        self.heard: Callable[[str, Head], object] = lambda _host, _head: None
        """Told of the head of each answer."""
        self._tls = _tls(ca_file, verify=verify)
        self._sessions: dict[Reach, aiohttp.ClientSession] = {}

    @staticmethod
    def _session_with(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            response_class=_Response,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=SILENCE_TIMEOUT_S, ceil_threshold=1e9
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
            trust_env=False,
            max_line_size=HEAD_LIMIT_BYTES,
            max_field_size=HEAD_LIMIT_BYTES,
            read_bufsize=CHUNK_BYTES,
        )

    def answer_for(self, host: str, respond: Respond) -> None:
        """Let requests for this host be answered here, as if by an origin."""
        self._own[host] = respond

    def _session(self, reach: Reach) -> aiohttp.ClientSession:
        # A parent proxy is the operator's choice, wherever it is.
        reach = EVERYWHERE if self._upstream is not None else reach
        if reach not in self._sessions:
            self._sessions[reach] = self._session_with(
                _Connector(self._tls, None if reach == EVERYWHERE else _Within(reach))
            )
        return self._sessions[reach]

    async def fetch(self, request: Request, *, reach: Reach = EVERYWHERE, interim: Interim = nobody) -> Fetched:
        """Send the request (its fields are sent as they are, after Host) and wait for the head of the final response.

        `reach`: to which addresses it may be sent, whatever its name resolves to. `interim` is told of responses before
        that. Raises OriginError if no response comes.
        """
        sent_s = self._clock.now()
        if request.target.host in self._own:
            head, body = self._own[request.target.host](request, sent_s)
            return Fetched(head, sent_s, sent_s, _whole(body), len(body))
        if not reach.allows(request.target.host):
            raise OriginError(Failure.UNREACHABLE, _out_of_reach(request.target.host, request.target.host))
        # The library keeps several lines of a name only if all are spelt alike.
        spelt: dict[str, str] = {}
        lines = [(spelt.setdefault(n.lower(), n), _as_sent(v)) for n, v in request.fields.raw if n.lower() != "host"]
        _interim.set(interim)
        try:
            response = await self._session(reach).request(
                request.method,
                URL(request.target.url, encoded=True),
                headers=[("Host", request.target.authority), *lines],
                allow_redirects=False,
                proxy=self._upstream,
            )
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise _explained(error) from error
        received_s = self._clock.now()
        if sum(len(name) + len(value) for name, value in response.raw_headers) > HEAD_LIMIT_BYTES:
            response.close()
            raise OriginError(Failure.MALFORMED, "the head of the origin's answer is too large")
        head = _head(response.status, response.raw_headers, response.reason)
        self.heard(request.target.host, head)
        # Behind a parent proxy only the name tells.
        peer = response.peer if self._upstream is None and isinstance(response, _Response) else request.target.host
        # Known, so that such an answer is stored before its head, which is all of it, lets the client ask again.
        bodiless = request.method == "HEAD" or response.status in _BODILESS
        length = 0 if bodiless else response.content_length
        return Fetched(
            head, sent_s, received_s, _content(response), length, response.close, is_local(peer), range_of(peer)
        )

    async def close(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.close()


def _head(status: int, raw_headers: RawHeaders, reason: str | None) -> Head:
    fields = Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw_headers)
    return Head(status, fields, reason or "")


def _as_sent(value: str) -> str:
    """A field value such that the client library, which encodes UTF-8, puts the original bytes on the wire."""
    return value if value.isascii() else value.encode("latin-1").decode("utf-8", "replace")


async def _whole(body: bytes) -> AsyncGenerator[bytes]:
    if body:
        yield body


async def _content(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError) as error:
        raise _explained(error) from error
    finally:
        # At its end the connection has gone back to the pool already; before it, this closes the connection.
        response.close()


def _explained(error: Exception) -> OriginError:
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return OriginError(Failure.TLS, f"the origin's TLS failed: {error}")
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return OriginError(Failure.TIMEOUT, "the origin did not answer in time")
    if isinstance(error, aiohttp.ClientConnectorError):
        return OriginError(Failure.UNREACHABLE, f"the origin cannot be reached: {error.os_error or error}")
    if isinstance(error, (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientOSError)):
        return OriginError(Failure.RESET, "the origin broke off")
    return OriginError(Failure.MALFORMED, f"the origin's answer could not be read: {error}")


def _tls(ca_file: str | None, *, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    elif not context.get_ca_certs() and ssl.get_default_verify_paths().cafile is None:
        context.load_verify_locations(certifi.where())
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
