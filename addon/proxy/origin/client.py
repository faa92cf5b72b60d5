"""The client for origins: sends a request, and returns a head and a stream of content.

Why not mitmproxy's: here the store can answer after a failed connection, interim (1xx) responses do not end the
exchange, all clients share connections, and prefetching uses the same code. Why not a library's: the isolation of
clients depends on the connection from which a response is read (docs/decisions/origin.md).
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial

from bestbefore.addon.clock import Clock
from bestbefore.addon.config.settings import Server
from bestbefore.addon.proxy.access.access import is_local
from bestbefore.addon.proxy.access.reach import EVERYWHERE, Reach, range_of
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.limits import DEFAULT_LIMITS, TimeLimits
from bestbefore.addon.proxy.origin.connecting import Connector, out_of_reach
from bestbefore.addon.proxy.origin.connection import Exchange, OriginConnection
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.proxy.origin.framing import MalformedError, request_head
from bestbefore.addon.proxy.origin.pool import MAX_OPEN, Pool, PoolKey
from bestbefore.addon.proxy.origin.reader import Final
from bestbefore.addon.proxy.origin.tls import tls_context
from bestbefore.addon.proxy.origin.unsound import UnsoundOrigins
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rules import Trust

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
"""Methods of requests that may use an idle connection. If it breaks before any response, the request is repeated (RFC
9110 9.2). Requests with other methods cannot be repeated, so each has a new connection."""
_MAX_CONTEXTS = 64
_STREAMS = ("text/event-stream", "multipart/x-mixed-replace")

type Respond = Callable[[Request, float], tuple[Head, bytes]]
"""Answers a request at a moment of policy time without the network."""


class Origin:
    """The client. Connections are not shared between requests with a different `Reach`."""

    def __init__(
        self,
        clock: Clock,
        *,
        upstream: Server | None = None,
        verify: bool = True,
        ca_file: str | None = None,
        limits: TimeLimits = DEFAULT_LIMITS,
        max_open: int = MAX_OPEN,
        on_unexpected_data: Callable[[Sequence[str]], object] = lambda _urls: None,
        unsound: UnsoundOrigins | None = None,
        on_answer: Callable[[str, Head], object] = lambda _host, _head: None,
        trust_of: Callable[[str], Trust] = lambda _host: Trust(),
    ) -> None:
        """Create a client without connections. `on_unexpected_data` and `unsound`: see `Pool`.

        `on_answer` is called with host and head of each response. `verify` and `ca_file`: the roots, in place of the
        system's, and whether any certificate is verified; `trust_of` returns what a host adds to that.
        """
        self._clock = clock
        self._parent = upstream
        self._limits = limits
        self._own: dict[str, Respond] = {}
        self._on_answer = on_answer
        self._trust_of = trust_of
        context = lru_cache(_MAX_CONTEXTS)(partial(tls_context, ca_file, verify))
        self._connector = Connector(context, trust_of, upstream)
        self._pool = Pool(max_open, on_unexpected_data, unsound)

    def answer_for(self, host: str, respond: Respond) -> None:
        """Answer requests for this host by a function in place of an origin."""
        self._own[host] = respond

    async def fetch(
        self,
        request: Request,
        *,
        reach: Reach = EVERYWHERE,
        interim: Interim = no_interim,
        upload: Upload | None = None,
    ) -> Fetched:
        """Send a request and wait for the head of the final response.

        Its fields are sent unchanged, but for Host and the framing fields. `reach`: the addresses to which it may be
        sent. `interim` is called with interim responses. `upload`: its content, which is read once. Raises OriginError
        if no response comes.
        """
        sent_s = self._clock.now()
        if request.target.host in self._own:
            head, body = self._own[request.target.host](request, sent_s)
            return Fetched(head, sent_s, sent_s, _whole(body), len(body))
        if not reach.allows(request.target.host):
            raise OriginError(Failure.UNREACHABLE, out_of_reach(request.target.host, request.target.host))
        key = self._key(request, reach)
        connection = self._pool.take(key) if upload is None and request.method in _SAFE else None
        if connection is not None:
            with suppress(_UnansweredError):
                return await self._exchanged(connection, key, request, interim, None)
        return await self._exchanged(await self._connect(key), key, request, interim, upload)

    def _key(self, request: Request, reach: Reach) -> PoolKey:
        target, parent = request.target, self._parent
        if parent is not None:
            # A parent proxy is the operator's choice, at any address; plain HTTP needs no tunnel through it.
            if target.scheme == "http":
                return PoolKey(EVERYWHERE, "http", parent.host, parent.port, self._trust(parent.scheme, parent.host))
            reach = EVERYWHERE
        return PoolKey(reach, target.scheme, target.host, target.port, self._trust(target.scheme, target.host))

    def _trust(self, scheme: str, host: str) -> Trust:
        return self._trust_of(host) if scheme == "https" else Trust()

    async def _connect(self, key: PoolKey) -> OriginConnection:
        await self._pool.reserve_place(self._limits.connect_s)
        try:
            connection = await self._connector.connect(
                key.scheme, key.host, key.port, key.reach, self._limits.connect_s
            )
        except BaseException:
            self._pool.release_place()
            raise
        self._pool.add(key, connection)
        return connection

    async def _exchanged(
        self, connection: OriginConnection, key: PoolKey, request: Request, interim: Interim, upload: Upload | None
    ) -> Fetched:
        """Send a request on this connection and wait for the head of the response.

        Raises OriginError; `_UnansweredError` if a reused connection broke without any response.
        """
        reused = bool(connection.urls)
        length = 0 if upload is None else upload.length
        absolute = self._parent is not None and request.target.scheme == "http"
        try:
            head = request_head(request, absolute=absolute, length=length, close=self._pool.is_unsound(key))
        except MalformedError as error:
            self._pool.put(key, connection)
            raise OriginError(Failure.MALFORMED, f"the request cannot be sent: {error}") from error
        sent_s = self._clock.now()
        connection.urls.append(request.target.url)
        exchange = Exchange(connection, request.method, self._limits, interim, lambda: self._pool.put(key, connection))
        try:
            final = await exchange.run(head, upload)
        except OriginError as error:
            if reused and not exchange.was_answered and error.failure is Failure.RESET:
                raise _UnansweredError from error
            raise
        return self._fetched(connection, exchange, final, request, sent_s)

    def _fetched(
        self, connection: OriginConnection, exchange: Exchange, final: Final, request: Request, sent_s: float
    ) -> Fetched:
        head = final.head
        self._on_answer(request.target.host, head)
        is_stream = (head.fields.first("content-type") or "").lower().startswith(_STREAMS)
        # Through a parent proxy only the name is known.
        peer = connection.peer if self._parent is None else request.target.host
        return Fetched(
            head,
            sent_s,
            self._clock.now(),
            exchange.chunks(self._limits.idle_s if is_stream else self._limits.read_s),
            final.frame.length,
            exchange.close,
            exchange.has_arrived,
            is_local(peer),
            range_of(peer),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()


class _UnansweredError(Exception):
    """A reused connection broke before the origin answered: the origin may have closed it while it was idle."""


async def _whole(body: bytes) -> AsyncGenerator[bytes]:
    if body:
        yield body
