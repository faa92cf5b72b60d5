"""The contact with an origin: one request out, a head and a stream of content back.

Our own client rather than mitmproxy's: a failed connection can be answered from the store, interim (1xx) responses do
not end the exchange, connections are shared by all clients, and prefetching uses the same fetch. And rather than a
library's: which connection an answer may be read from is what keeps clients apart (docs/decisions/origin.md).
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress

from bestbefore.addon.clock import Clock
from bestbefore.addon.config.settings import Server
from bestbefore.addon.proxy.access.access import is_local
from bestbefore.addon.proxy.access.reach import EVERYWHERE, Reach, range_of
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.limits import DEFAULT_LIMITS, TimeLimits
from bestbefore.addon.proxy.origin.connecting import Connector, out_of_reach, tls_context
from bestbefore.addon.proxy.origin.connection import Exchange, OriginConnection
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.proxy.origin.framing import MalformedError, request_head
from bestbefore.addon.proxy.origin.pool import OPEN_AT_MOST, Pool, PoolKey
from bestbefore.addon.proxy.origin.reader import Final
from bestbefore.addon.proxy.origin.unsound import UnsoundOrigins
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Head, Request

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
"""Methods of requests that may use a connection that had been idle. If it breaks before any answer they are sent again
(RFC 9110 9.2); others could not be, so that each of them has a connection of its own."""
_STREAMS = ("text/event-stream", "multipart/x-mixed-replace")

type Respond = Callable[[Request, float], tuple[Head, bytes]]
"""Answers a request at a moment of policy time without any network."""


class Origin:
    """Fetches. Each reach has its own connections, so that none is used for whom it is not meant."""

    def __init__(
        self,
        clock: Clock,
        *,
        upstream: Server | None = None,
        verify: bool = True,
        ca_file: str | None = None,
        limits: TimeLimits = DEFAULT_LIMITS,
        open_at_most: int = OPEN_AT_MOST,
        on_surplus: Callable[[Sequence[str]], object] = lambda _urls: None,
        unsound: UnsoundOrigins | None = None,
        on_answer: Callable[[str, Head], object] = lambda _host, _head: None,
    ) -> None:
        """Make a client without connections. `on_surplus` and `unsound`: see `Pool`.

        `on_answer` is called with the host and the head of each answer.
        """
        self._clock = clock
        self._parent = upstream
        self._limits = limits
        self._own: dict[str, Respond] = {}
        self._on_answer = on_answer
        self._connector = Connector(tls_context(ca_file, verify=verify), upstream)
        self._pool = Pool(open_at_most, on_surplus, unsound)

    @property
    def open_connections(self) -> int:
        """The number of connections, idle ones included."""
        return self._pool.open

    def answer_for(self, host: str, respond: Respond) -> None:
        """Let requests for this host be answered here, as if by an origin."""
        self._own[host] = respond

    async def fetch(
        self,
        request: Request,
        *,
        reach: Reach = EVERYWHERE,
        interim: Interim = no_interim,
        upload: Upload | None = None,
    ) -> Fetched:
        """Send the request (its fields unchanged after Host, framed by us) and wait for the final response's head.

        `reach`: to which addresses it may be sent, whatever its name resolves to. `interim` is called with
        responses before that. `upload`: its content, which is read once. Raises OriginError if no response
        comes.
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
            # A parent proxy is the operator's choice, wherever it is; to it goes what needs no tunnel.
            if target.scheme == "http":
                return PoolKey(EVERYWHERE, "http", parent.host, parent.port)
            reach = EVERYWHERE
        return PoolKey(reach, target.scheme, target.host, target.port)

    async def _connect(self, key: PoolKey) -> OriginConnection:
        await self._pool.make_room(self._limits.connect_s)
        try:
            connection = await self._connector.connect(
                key.scheme, key.host, key.port, key.reach, self._limits.connect_s
            )
        except BaseException:
            self._pool.not_opened()
            raise
        self._pool.opened(key, connection)
        return connection

    async def _exchanged(
        self, connection: OriginConnection, key: PoolKey, request: Request, interim: Interim, upload: Upload | None
    ) -> Fetched:
        """Do one exchange on this connection.

        Raises OriginError; `_UnansweredError` if the connection had been used before and broke without any answer.
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
        # Behind a parent proxy only the name is known.
        peer = connection.peer if self._parent is None else request.target.host
        return Fetched(
            head,
            sent_s,
            self._clock.now(),
            exchange.chunks(self._limits.idle_s if is_stream else self._limits.read_s),
            final.frame.length,
            exchange.close,
            is_local(peer),
            range_of(peer),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()


class _UnansweredError(Exception):
    """A connection that had been idle broke before the origin answered: it may have closed it at that moment."""


async def _whole(body: bytes) -> AsyncGenerator[bytes]:
    if body:
        yield body
