"""A request and its response, inside mitmproxy's HTTP layer.

mitmproxy's own `HttpStream` turns each request into a flow and calls the hooks of all addons. For a hit this would take
most of the time, so `CachingStream` asks the gateway as soon as the request is complete and sends the answer itself:
without a flow or hooks, for HTTP/1 and HTTP/2, plain and intercepted. Requests with content and other methods are
answered in the same way, so that one client (`proxy.origin`) frames all requests to origins. Upgrade requests are left
to mitmproxy; `hooks` handles them.
"""

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol

import mitmproxy.http
from mitmproxy.net.http import http1
from mitmproxy.net.http import url as http_url
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream
from mitmproxy.proxy.mode_specs import ReverseMode

from bestbefore.addon.engine.request import MALFORMED_REQUEST, MISDIRECTED, is_one_host, received
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Pending
from bestbefore.addon.proxy.exchange.interim import AnswerSequence, no_interim
from bestbefore.addon.proxy.mitm.forwarded import PASSED, PassedBytes
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.translate import request_of, response_of
from bestbefore.addon.proxy.mitm.wait import AsyncCall, BestbeforeWait
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.tunnels.opening import install
from bestbefore.addon.rfc9111.message import Head, Request

logger = logging.getLogger(__name__)

Commands = layer.CommandGenerator[Any]

ANSWERED_HERE = "bestbefore_answers"
"""The metadata key that marks flows which this module answers; `hooks` ignores these."""
NOT_CONNECTED = "The proxy cannot reach the server of this upgrade, or does not accept its certificate: see its log."
"""What a client is shown in place of the texts of Python and OpenSSL."""
WHOLE_BYTES = 256 * 1024
"""Content in memory up to this size is sent at once, if there is room for it."""
PIECE_BYTES = 64 * 1024
"""Larger content in memory is sent in pieces of this size, each when the client has read most of the one before."""


_NOT_ASCII = re.compile(rb"[\x80-\xff]")


class ClientConnection(Protocol):
    """The connection that a request came on."""

    async def window(self, stream_id: int) -> bool:
        """Whether the client can receive more of a response; if not, wait for an event on its connection first."""

    def has_room(self, stream_id: int) -> bool:
        """Whether the client can receive more of a response."""

    async def activity(self) -> None:
        """Wait for the next event on the client's connection."""

    def resume_upload(self) -> None:
        """Resume reading from the client if enough of its upload has been sent on."""

    def disconnect_later(self) -> object:
        """Close the connection after a time limit."""


class CachingStream(HttpStream):
    """The stream of a request and its response."""

    def __init__(
        self,
        context: Context,
        stream_id: int,
        gateway: Gateway,
        connection: ClientConnection,
        started_s: float | None = None,
    ) -> None:
        """`started_s`: when the first byte of the request was read, by the monotonic clock; None: not known."""
        super().__init__(context, stream_id)
        self._started_s = started_s
        self._gateway = gateway
        self._request: mitmproxy.http.Request | None = None
        self.upload: Upload | None = None
        """The content of the request, if it has any."""
        self._connection = connection

    def handle_event(self, event: events.Event) -> Commands:
        """Handle an event as mitmproxy does; pass content to the upload at once, also while the answer is awaited."""
        if self.upload is not None:
            if isinstance(event, layers.RequestData):
                self.upload.feed(event.data)
                return
            if isinstance(event, layers.RequestEndOfMessage):
                self.upload.end()
                return
            if isinstance(event, layers.RequestTrailers):
                return
            if isinstance(event, layers.RequestProtocolError):
                self.upload.fail("the client closed the connection early")
        flow = getattr(self, "flow", None)  # mitmproxy sets it when it has read the head
        passed: PassedBytes | None = None if flow is None else flow.metadata.get(PASSED)
        handled = super().handle_event(event)
        yield from handled if passed is None else passed.counted(event, handled, self.context.client)

    def state_wait_for_request_headers(self, event: layers.RequestHeaders) -> Commands:
        """Decide whether this stream answers the request, or mitmproxy."""
        request, has_content = event.request, not event.end_stream
        request.data.path = _encoded(request.data.path)
        if event.replay_flow or not self._gateway.handles(request, self.context.client, has_content=has_content):
            yield from super().state_wait_for_request_headers(event)
            return
        try:
            length = _announced_length(request) if has_content else 0
        except ValueError:  # mitmproxy has answered it with 400 and closes the connection
            self._request, self.client_state = request, self.state_errored
            return
        refusal = self._refusal(request)
        if (
            layers.validate_request(self.mode, request, self.context.options.validate_inbound_headers) is not None
            or not self._settle_destination(request)
        ):
            yield from super().state_wait_for_request_headers(event)
            return
        self._request = request
        if refusal is not None:
            self.client_state = self.state_errored
            view = request_of(request, has_body=has_content)
            malformed = self._gateway.refusal(view, self.context.client)
            yield from self._send_framed(malformed or self._gateway.refuse(view, self.context.client, *refusal))
        elif has_content:
            self.client_state = self.state_errored
            self.upload = Upload(length, self._connection.resume_upload)
            if request.headers.get("expect", "").lower() == "100-continue":
                yield layers.SendHttp(layers.ResponseHeaders(self.stream_id, _continue()), self.context.client)
            yield from self._answer(request)
        else:
            self.client_state = self.state_answer

    def handle_connect_finish(self) -> Commands:
        """Let the origin of a tunnel speak first if the client is silent."""
        if self.context.server.address is not None:
            within_s = self._gateway.silence_s(*self.context.server.address[:2])
            install(self, within_s, self._connection.activity)
        yield from super().handle_connect_finish()  # type: ignore[no-untyped-call]

    def _refusal(self, request: mitmproxy.http.Request) -> tuple[int, str] | None:
        """Return status and detail of the refusal of a request without a target or with one of another connection."""
        if request.is_http2 and not self._has_target(request):
            return 400, MALFORMED_REQUEST
        return (421, MISDIRECTED) if self._is_misdirected(request) else None

    def _has_target(self, request: mitmproxy.http.Request) -> bool:
        """Whether the pseudo-header fields of a request name a target (RFC 9113 8.3.1)."""
        hosts = [request.authority, *request.headers.get_all("host")]
        in_tunnel = self.mode is HTTPMode.transparent and not isinstance(self.context.client.proxy_mode, ReverseMode)
        schemes = ("https",) if in_tunnel and self.context.client.tls else ("http", "https")
        return (request.path.startswith("/") or request.path == "*") and request.scheme in schemes and any(hosts)

    def _is_misdirected(self, request: mitmproxy.http.Request) -> bool:
        """Whether a request in a tunnel is for another server than the tunnel leads to."""
        address = self.context.server.address
        if self.mode is not HTTPMode.transparent or isinstance(self.context.client.proxy_mode, ReverseMode):
            return False
        return address is not None and any(
            not _names(named, address, tls=bool(self.context.client.tls))
            for named in (request.authority, *request.headers.get_all("host"))
            if named
        )

    def _settle_destination(self, request: mitmproxy.http.Request) -> bool:
        """Set scheme, host and port as mitmproxy would; False if they cannot be determined."""
        if self.mode is HTTPMode.transparent:
            if not self.context.server.address:
                return False
            request.data.host, request.data.port = self.context.server.address[:2]
            request.scheme = "https" if self.context.server.tls else "http"
            is_reverse = isinstance(self.context.client.proxy_mode, ReverseMode)
            if is_reverse and is_one_host(request.headers.get_all("host")):  # else it is refused later
                # Clients send the proxy's name as the Host; the origin behind it has another name.
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
        """Answer the request when it is complete."""
        if isinstance(event, layers.RequestEndOfMessage) and self._request is not None:
            self.client_state = self.state_errored  # later events of this stream are ignored
            yield from self._answer(self._request)

    def _answer(self, message: mitmproxy.http.Request) -> Commands:
        unmodified = request_of(message, has_body=self.upload is not None)
        refusal = self._gateway.refusal(unmodified, self.context.client)
        if refusal is not None:
            yield from self._send_framed(refusal)
        elif self._gateway.uses_hooks:
            yield from self._answer_with_hooks(message)
        else:
            yield from self._send_framed((yield from self._answered(message, received(unmodified))))
        if self.upload is not None:
            yield from self._leave_upload(self.upload, message)

    def _leave_upload(self, upload: Upload, message: mitmproxy.http.Request) -> Commands:
        """Discard the rest of the content. A client that has not sent all of it is disconnected after a while."""
        upload.drop()
        if not (upload.ended or message.is_http2 or self._client_is_gone()):
            yield commands.CloseTcpConnection(self.context.client, half_close=True)
            self._connection.disconnect_later()

    def _answered(self, message: mitmproxy.http.Request, request: Request) -> layer.CommandGenerator[Answer]:
        decided = self._gateway.decide(request, self.context.client, self._started_s)
        return decided if isinstance(decided, Answer) else (yield from self._ask(message, decided))

    def _send_framed(self, answer: Answer) -> Commands:
        yield from self._send(answer, self._framed(answer.head))

    def _ask(self, message: mitmproxy.http.Request, pending: Pending) -> layer.CommandGenerator[Answer]:
        """Return the answer; interim responses of the origin are sent to the client first.

        Not over HTTP/1.0, which has none (RFC 9110 15.2).
        """
        client = self.context.client
        if message.http_version == "HTTP/1.0":
            return (yield from self._wait(lambda: self._gateway.answer(pending, no_interim, self.upload)))
        exchange = AnswerSequence(lambda interim: self._gateway.answer(pending, interim, self.upload))
        while isinstance(result := (yield from self._wait(exchange.next)), Head):
            if not self._client_is_gone():
                response = response_of(result, now_s=self._gateway.now())
                yield layers.SendHttp(layers.ResponseHeaders(self.stream_id, response), client)
        return result

    def _answer_with_hooks(self, message: mitmproxy.http.Request) -> Commands:
        """Answer as `_answer` does, but pass the exchange to the other addons of a stock mitmproxy as a flow."""
        self.flow = mitmproxy.http.HTTPFlow(self.context.client, self.context.server, live=True)
        self.flow.request = message
        self.flow.metadata[ANSWERED_HERE] = True
        yield layers.HttpRequestHeadersHook(self.flow)
        yield layers.HttpRequestHook(self.flow)
        if (yield from self.check_killed(emit_error_hook=True)):
            return
        if self.flow.response is not None:  # another addon has answered
            yield layers.HttpResponseHeadersHook(self.flow)
            self.client_state = self.state_done
            yield from self.send_response()
            return
        request = received(request_of(self.flow.request, has_body=self.upload is not None))
        answer = yield from self._answered(message, request)
        response = self._framed(answer.head)
        response.data.content = answer.body
        self.flow.response = response
        yield layers.HttpResponseHeadersHook(self.flow)
        yield from self._send(answer, response)
        self.flow.live = False
        yield layers.HttpResponseHook(self.flow)

    def _framed(self, head: Head) -> mitmproxy.http.Response:
        """Return the head with the framing that this client's protocol needs."""
        response = response_of(head, now_s=self._gateway.now())
        request = self._request
        is_incomplete = self.upload is not None and not self.upload.ended
        if request is not None and not request.is_http2 and (head.status == 400 or is_incomplete):
            # Data that follows on the connection may be a smuggled request, or a long rest of the content.
            response.headers["Connection"] = "close"
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
        at_once = len(answer.body) <= WHOLE_BYTES and self._connection.has_room(self.stream_id)
        chunks = answer.chunks if at_once or not answer.body else _pieces(answer.body)
        done = not answer.body and chunks is None
        yield layers.SendHttp(layers.ResponseHeaders(self.stream_id, response, done), client)
        if chunks is not None:
            sent = yield from self._send_chunks(answer, chunks)
            if sent < 0:
                return
        elif answer.body:
            yield layers.SendHttp(layers.ResponseData(self.stream_id, answer.body), client)
            sent = len(answer.body)
            if sent > PIECE_BYTES and not (yield from self._is_taken()):
                answer.finish(sent, complete=False)
                yield layers.DropStream(self.stream_id)
                return
        answer.finish(sent, complete=True)
        yield layers.DropStream(self.stream_id)
        yield layers.SendHttp(layers.ResponseEndOfMessage(self.stream_id), client)

    def _send_chunks(self, answer: Answer, chunks: AsyncGenerator[bytes]) -> Commands:
        """Send the content as it arrives. Returns its size in bytes, or -1 if it was truncated at either end."""
        client, sent = self.context.client, 0

        async def next_chunk() -> bytes | None:
            await self._gateway.drained(client)
            while not self._client_is_gone() and not await self._connection.window(self.stream_id):
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
            # The head has been sent, so the exchange must end with an error: the client must not take the content for
            # complete. mitmproxy itself would leave the client waiting without end.
            if not isinstance(error, ConnectionError):
                logger.exception("an answer was interrupted: this is a bug in bestbefore")
            yield from self._wait(close)
            answer.finish(sent, complete=False)
            yield layers.DropStream(self.stream_id)
            if not self._client_is_gone():
                code = layers.ErrorCode.GENERIC_SERVER_ERROR
                yield layers.SendHttp(layers.ResponseProtocolError(self.stream_id, str(error), code), client)
            return -1
        return sent

    def _is_taken(self) -> layer.CommandGenerator[bool]:
        """Wait until the client has read most of what was sent; False if it disconnects before."""
        try:
            yield from self._wait(lambda: self._gateway.drained(self.context.client))
        except ConnectionError:
            return False
        return not self._client_is_gone()

    def _wait[T](self, start: Callable[[], Awaitable[T]]) -> layer.CommandGenerator[T]:
        work = AsyncCall(start)
        yield BestbeforeWait(work)
        return work.outcome()

    def _client_is_gone(self) -> bool:
        return any(isinstance(event, layers.RequestProtocolError) for event in self._paused_event_queue)

    def handle_protocol_error(self, event: layers.RequestProtocolError | layers.ResponseProtocolError) -> Commands:
        """Drop the stream of a client that disconnected during the answer; else do as mitmproxy does."""
        if self._request is None:
            if event.code is layers.ErrorCode.CONNECT_FAILED:
                event.message = NOT_CONNECTED
            yield from super().handle_protocol_error(event)
        else:
            yield layers.DropStream(self.stream_id)


def _encoded(target: bytes) -> bytes:
    """Return the target with bytes beyond ASCII percent-encoded, as browsers send it.

    Some servers take such a byte for white space, at which the target ends.
    """
    return target if target.isascii() else _NOT_ASCII.sub(lambda found: b"%%%02X" % found[0][0], target)


def _announced_length(request: mitmproxy.http.Request) -> int | None:
    """Return the announced length of the content, bytes; None if in chunks or frames. ValueError if ambiguous."""
    if request.is_http2:
        length = request.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None
    return http1.expected_http_body_size(request)


def _names(authority: str, address: tuple[str, int], *, tls: bool) -> bool:
    """Whether an authority (of Host, :authority or an absolute target) names this address."""
    try:
        host, port = http_url.parse_authority(authority, check=False)
    except ValueError:
        return False
    same = host.lower().rstrip(".") == address[0].lower().rstrip(".")
    return same and (port or (443 if tls else 80)) == address[1]


def _continue() -> mitmproxy.http.Response:
    return mitmproxy.http.Response(b"HTTP/1.1", 100, b"Continue", mitmproxy.http.Headers(), None, None, 0.0, None)


async def _pieces(body: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]
