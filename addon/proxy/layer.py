"""The place in mitmproxy's layer stack where a GET or HEAD is answered from the cache.

mitmproxy's own `HttpStream` turns each request into a flow and walks it through the hooks of all addons. For a hit
that is most of the time spent, so `CachingStream` asks the gateway as soon as the request is complete and sends the
answer itself: no flow, no hooks, no connection to an origin, the same for HTTP/1 and HTTP/2, plain and intercepted.
What is not GET or HEAD, bears a body or asks for an upgrade takes mitmproxy's way, where `hooks` sees it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol

import mitmproxy.http
from mitmproxy.connection import Connection
from mitmproxy.net.http import url as http_url
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpStream
from mitmproxy.proxy.mode_specs import ReverseMode

from bestbefore.addon.proxy import bounds
from bestbefore.addon.proxy.answer import Answer
from bestbefore.addon.proxy.interim import Asking, Interim, nobody
from bestbefore.addon.proxy.translate import request_of, response_of
from bestbefore.addon.proxy.wait import BestbeforeWait, Work
from bestbefore.addon.rfc9111.message import Head, Request

logger = logging.getLogger(__name__)

Commands = layer.CommandGenerator[Any]

OURS = "bestbefore_answers"
"""The key of a flow's metadata that tells our own hooks to leave it alone."""
MERGED_BYTES = 64 * 1024
"""Data sent together is no larger than this: copying more costs more than a write."""
PIECE_BYTES = 256 * 1024
"""Content in memory is handed over in pieces of this size, each when the client has taken most of the one before."""


class Gateway(Protocol):
    """What answers requests: the shell around the engine."""

    announce: bool
    """Whether other addons listen, so that each exchange must be shown to them as a flow."""

    def takes(self, request: mitmproxy.http.Request, client: mitmproxy.connection.Client) -> bool:
        """Whether this request is answered by the gateway rather than by mitmproxy."""

    def hit(self, request: Request, client: mitmproxy.connection.Client) -> Answer | None:
        """The answer, if it can be given at once from a copy in memory."""

    async def answer(self, request: Request, client: mitmproxy.connection.Client, interim: Interim) -> Answer:
        """The answer, after asking the store or the origin, and what is to be sent before it."""

    async def drained(self, client: mitmproxy.connection.Client) -> None:
        """Wait until the client has taken most of what was sent to it."""

    def hear(self, connection: Connection, client: mitmproxy.connection.Client, *, on: bool) -> None:
        """Read from the client, or from an origin for it; or leave what comes in the socket."""

    def now(self) -> float:
        """Policy time, s."""


class CachingHttpLayer(HttpLayer):
    """mitmproxy's HTTP layer with streams that ask the gateway first, and with bounds on what it holds in memory."""

    def __init__(self, context: Context, mode: HTTPMode, gateway: Gateway) -> None:
        super().__init__(context, mode)
        self._gateway = gateway
        self._unheard: frozenset[Connection] = frozenset()
        """Those that are not read from now."""
        self._moved: asyncio.Event | None = None

    def handle_event(self, event: events.Event) -> Commands:
        """As mitmproxy's, in fewer writes."""
        yield from _merged(super().handle_event(event))
        weighed = self._unheard
        if isinstance(event, events.DataReceived):
            yield from self._end_if_endless(event.connection)
            weighed = self._unheard | {event.connection}
        for connection in weighed:
            self._hear_less_or_more(connection)
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    def _end_if_endless(self, connection: Connection) -> Commands:
        parser = bounds.parser_of(self.connections.get(connection))
        if parser is not None and bounds.is_endless(parser):
            if answer := bounds.last_words(parser):
                yield commands.SendData(connection, answer)
            yield commands.CloseConnection(connection)

    def _hear_less_or_more(self, connection: Connection) -> None:
        """Read no more from a peer while much of what it sent waits here, and again when it does not."""
        waits = self._waiting_bytes(connection) > bounds.WAITING_BYTES
        if waits or connection in self._unheard:
            # Told again at each event: asyncio's StreamReader resumes reading for reasons of its own.
            self._unheard = self._unheard | {connection} if waits else self._unheard - {connection}
            self._gateway.hear(connection, self.context.client, on=not waits)

    def _waiting_bytes(self, connection: Connection) -> int:
        if connection is self.context.client:
            return bounds.paused_bytes(self.streams.values())
        client = self.connections[self.context.client]
        streams = (number for number, stream in self.streams.items() if stream.context.server is connection)
        return sum(bounds.window_bytes(client, number) for number in streams)

    async def window(self, stream_id: int) -> bool:
        """Whether the client can take more of an answer; if not, waits until anything happens on its connection."""
        if bounds.window_bytes(self.connections[self.context.client], stream_id) <= bounds.WINDOW_BYTES:
            return True
        self._moved = self._moved or asyncio.Event()
        await self._moved.wait()
        return False

    def make_stream(self, stream_id: int) -> Commands:
        """As mitmproxy's, with our stream."""
        stream = self.streams[stream_id] = CachingStream(self.context.fork(), stream_id, self._gateway)
        yield from self.event_to_child(stream, events.Start())


def _merged(issued: Commands) -> Commands:
    """The same commands, with small data to one connection sent together: a head and its content are one write.

    A write is a system call, a tenth of the time of a hit.
    """
    held: commands.SendData | None = None
    for command in issued:
        if isinstance(command, commands.SendData):
            if (
                held is not None
                and held.connection is command.connection
                and len(held.data) + len(command.data) <= MERGED_BYTES
            ):
                held = commands.SendData(held.connection, held.data + command.data)
                continue
            if held is not None:
                yield held
            held = command
            continue
        if held is not None:
            yield held
            held = None
        yield command
    if held is not None:
        yield held


class CachingStream(HttpStream):
    """One request and its response."""

    def __init__(self, context: Context, stream_id: int, gateway: Gateway) -> None:
        super().__init__(context, stream_id)
        self._gateway = gateway
        self._request: mitmproxy.http.Request | None = None
        parent = context.layers[-2]
        assert isinstance(parent, CachingHttpLayer)
        self._parent = parent

    def state_wait_for_request_headers(self, event: layers.RequestHeaders) -> Commands:
        """Decide who answers: we do once the request is complete, or mitmproxy."""
        request = event.request
        if (
            not event.end_stream
            or event.replay_flow
            or not self._gateway.takes(request, self.context.client)
            or layers.validate_request(self.mode, request, self.context.options.validate_inbound_headers) is not None
            or not self._settle_destination(request)
        ):
            yield from super().state_wait_for_request_headers(event)
            return
        self._request = request
        self.client_state = self.state_answer

    def _settle_destination(self, request: mitmproxy.http.Request) -> bool:
        """Set scheme, host and port as mitmproxy would; False if they cannot be known."""
        if self.mode is HTTPMode.transparent:
            if not self.context.server.address:
                return False
            request.data.host, request.data.port = self.context.server.address[:2]
            request.scheme = "https" if self.context.server.tls else "http"
            if isinstance(self.context.client.proxy_mode, ReverseMode):
                # Clients name the proxy; the origin behind it has a name of its own.
                request.host_header = http_url.hostport(request.scheme, request.host, request.port)
        elif not request.host:
            try:
                host, port = http_url.parse_authority(request.host_header or "", check=True)
            except ValueError:
                return False
            request.scheme = "https" if self.context.client.tls else "http"
            request.data.host, request.data.port = host, port or (443 if self.context.client.tls else 80)
        return True

    def state_answer(self, event: events.Event) -> Commands:
        """The request is complete: answer it."""
        if not isinstance(event, layers.RequestEndOfMessage) or self._request is None:
            return
        self.client_state = self.state_errored  # whatever else arrives for this stream is of no interest
        if self._gateway.announce:
            yield from self._answer_with_hooks(self._request)
            return
        request = request_of(self._request, has_body=False)
        answer = self._gateway.hit(request, self.context.client)
        if answer is None:
            answer = yield from self._asked(self._request, request)
        yield from self._send(answer, self._framed(answer.head))

    def _asked(self, message: mitmproxy.http.Request, request: Request) -> layer.CommandGenerator[Answer]:
        """The answer, after what the origin sends before it was passed on.

        Over HTTP/1 it is not: programs, those with Python's http.client among them, take it for the answer, and
        browsers pass it over (RFC 8297 3).
        """
        client = self.context.client
        if not message.is_http2:
            return (yield from self._wait(lambda: self._gateway.answer(request, client, nobody)))
        asking = Asking(lambda interim: self._gateway.answer(request, client, interim))
        while isinstance(came := (yield from self._wait(asking.next)), Head):
            if not self._client_is_gone():
                response = response_of(came, now_s=self._gateway.now())
                yield layers.SendHttp(layers.ResponseHeaders(self.stream_id, response), client)
        return came

    def _answer_with_hooks(self, message: mitmproxy.http.Request) -> Commands:
        """As `state_answer`, shown to the other addons of a stock mitmproxy as a flow."""
        self.flow = mitmproxy.http.HTTPFlow(self.context.client, self.context.server, live=True)
        self.flow.request = message
        self.flow.metadata[OURS] = True
        yield layers.HttpRequestHeadersHook(self.flow)
        yield layers.HttpRequestHook(self.flow)
        if (yield from self.check_killed(emit_error_hook=True)):
            return
        if self.flow.response is not None:  # another addon has answered
            yield layers.HttpResponseHeadersHook(self.flow)
            self.client_state = self.state_done
            yield from self.send_response()
            return
        request = request_of(self.flow.request, has_body=False)
        answer = self._gateway.hit(request, self.context.client) or (yield from self._asked(message, request))
        response = self._framed(answer.head)
        response.data.content = answer.body
        self.flow.response = response
        yield layers.HttpResponseHeadersHook(self.flow)
        yield from self._send(answer, response)
        self.flow.live = False
        yield layers.HttpResponseHook(self.flow)

    def _framed(self, head: Head) -> mitmproxy.http.Response:
        """The head with the framing that this client's protocol needs."""
        response = response_of(head, now_s=self._gateway.now())
        request = self._request
        bodiless = head.status in (204, 304) or head.status < 200
        if bodiless or "content-length" in response.headers or request is None or request.is_http2:
            return response
        if request.http_version == "HTTP/1.0":
            response.headers["Connection"] = "close"
        elif request.method != "HEAD":
            response.headers["Transfer-Encoding"] = "chunked"
        return response

    def _send(self, answer: Answer, response: mitmproxy.http.Response) -> Commands:
        client, sent = self.context.client, 0
        chunks = answer.chunks if len(answer.body) <= PIECE_BYTES else _pieces(answer.body)
        done = not answer.body and chunks is None
        yield layers.SendHttp(layers.ResponseHeaders(self.stream_id, response, done), client)
        if chunks is not None:
            sent = yield from self._send_chunks(answer, chunks)
            if sent < 0:
                return
        elif answer.body:
            yield layers.SendHttp(layers.ResponseData(self.stream_id, answer.body), client)
            sent = len(answer.body)
        answer.finish(sent, complete=True)
        yield layers.DropStream(self.stream_id)
        yield layers.SendHttp(layers.ResponseEndOfMessage(self.stream_id), client)

    def _send_chunks(self, answer: Answer, chunks: AsyncGenerator[bytes]) -> Commands:
        """Pass the content on as it comes. Returns its size, or -1 if it was cut short at either end."""
        client, sent = self.context.client, 0

        async def next_chunk() -> bytes | None:
            await self._gateway.drained(client)
            while not self._client_is_gone() and not await self._parent.window(self.stream_id):
                pass
            return await anext(chunks, None)

        async def close() -> None:
            async with aclosing(chunks):
                pass

        try:
            while (chunk := (yield from self._wait(next_chunk))) is not None:
                if self._client_is_gone():
                    yield from self._wait(close)
                    answer.finish(sent, complete=False)
                    yield layers.DropStream(self.stream_id)
                    return -1
                yield layers.SendHttp(layers.ResponseData(self.stream_id, chunk), client)
                sent += len(chunk)
        except Exception as error:
            # The head is out, so the only honest end is a broken one: the client must not take this for the whole. And
            # left to mitmproxy, it would wait for ever.
            if not isinstance(error, ConnectionError):
                logger.exception("an answer broke off: this is a fault in bestbefore")
            answer.finish(sent, complete=False)
            yield layers.DropStream(self.stream_id)
            code = layers.ErrorCode.GENERIC_SERVER_ERROR
            yield layers.SendHttp(layers.ResponseProtocolError(self.stream_id, str(error), code), client)
            return -1
        return sent

    def _wait[T](self, start: Callable[[], Awaitable[T]]) -> layer.CommandGenerator[T]:
        work = Work(start)
        yield BestbeforeWait(work)
        return work.outcome()

    def _client_is_gone(self) -> bool:
        return any(isinstance(event, layers.RequestProtocolError) for event in self._paused_event_queue)

    def handle_protocol_error(self, event: layers.RequestProtocolError | layers.ResponseProtocolError) -> Commands:
        """A client that went away while we answer it: nothing is left to do. Else as mitmproxy's."""
        if self._request is None:
            yield from super().handle_protocol_error(event)
        else:
            yield layers.DropStream(self.stream_id)


async def _pieces(body: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]


def install(next_layer: layer.NextLayer, gateway: Gateway) -> None:
    """Put `CachingHttpLayer` in place of mitmproxy's HTTP layer, wherever in the new stack it stands."""
    parent: layer.Layer | None = None
    current = next_layer.layer
    while current is not None and type(current) is not HttpLayer:
        parent, current = current, getattr(current, "child_layer", None)
    if current is None:
        return
    position = current.context.layers.index(current)
    ours = CachingHttpLayer(current.context, current.mode, gateway)
    ours.context.layers.pop()  # the constructor appended it; it takes the place of the layer it replaces
    ours.context.layers[position] = ours
    if parent is None:
        next_layer.layer = ours
    else:
        parent.child_layer = ours  # type: ignore[attr-defined]
