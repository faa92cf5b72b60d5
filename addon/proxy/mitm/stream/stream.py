"""A request and its response, inside mitmproxy's HTTP layer.

mitmproxy's own `HttpStream` turns each request into a flow and calls the hooks of all addons. For a hit this would take
most of the time, so `CachingStream` asks the gateway as soon as the request is complete and sends the answer itself:
without a flow or hooks, for HTTP/1 and HTTP/2, plain and intercepted. Requests with content and other methods are
answered in the same way, so that one client (`proxy.origin`) frames all requests to origins. Upgrade requests are left
to mitmproxy; `hooks` handles them.
"""

from typing import Any

import mitmproxy.http
from mitmproxy.net.http import http1
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream

from bestbefore.addon.engine.request import received
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.interim import AnswerSequence, no_interim
from bestbefore.addon.proxy.mitm.forwarded import PASSED, STARTED, PassedBytes
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.memory import bounds
from bestbefore.addon.proxy.mitm.memory.cycles import release
from bestbefore.addon.proxy.mitm.stream import destination
from bestbefore.addon.proxy.mitm.stream.client_connection import ClientConnection
from bestbefore.addon.proxy.mitm.stream.sending import AnswerSender, framed
from bestbefore.addon.proxy.mitm.translate import error_response, request_of, response_of
from bestbefore.addon.proxy.mitm.wait import wait
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.tunnels.failures import tunnel_failure, upgrade_failure
from bestbefore.addon.proxy.tunnels.opening import install
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Head, Request

Commands = layer.CommandGenerator[Any]

ANSWERED_HERE = "bestbefore_answers"
"""The metadata key that marks flows which this module answers; `hooks` ignores these."""


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
        if isinstance(event, layers.RequestHeaders):
            handled = self._noting_start(handled)
        is_dropped = False
        for command in handled if passed is None else passed.counted(event, handled, self.context.client):
            is_dropped = is_dropped or isinstance(command, layers.DropStream)
            yield command
        if is_dropped:
            release(self)

    def _noting_start(self, handled: Commands) -> Commands:
        """Note when the first byte of the request was read, for the hooks, if mitmproxy makes a flow of it."""
        for command in handled:
            flow = getattr(self, "flow", None)
            if flow is not None and self._started_s is not None:
                flow.metadata.setdefault(STARTED, self._started_s)
            yield command

    def state_wait_for_request_headers(self, event: layers.RequestHeaders) -> Commands:
        """Decide whether this stream answers the request, or mitmproxy."""
        request, has_content = event.request, not event.end_stream
        request.data.path = destination.encoded(request.data.path)
        if event.replay_flow or not self._gateway.handles(request, self.context.client, has_content=has_content):
            yield from super().state_wait_for_request_headers(event)
            return
        try:
            length = _announced_length(request) if has_content else 0
        except ValueError:  # mitmproxy has answered it with 400 and closes the connection
            self._request, self.client_state = request, self.state_errored
            return
        refusal = destination.refusal(request, self.mode, self.context)
        if (
            layers.validate_request(self.mode, request, self.context.options.validate_inbound_headers) is not None
            or not destination.settle(request, self.mode, self.context)
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
            expected = self._gateway.expected(*self.context.server.address[:2])
            opens = expected.is_passthrough and self.flow.response is None and self.mode is HTTPMode.regular
            # Before the answer, which can be an error only so.
            if opens and (yield commands.OpenConnection(self.context.server)):
                self.flow.response = mitmproxy.http.Response.make(502)
            install(self, expected, self._connection.activity)
        yield from super().handle_connect_finish()  # type: ignore[no-untyped-call]

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
        yield from self._sent(answer, self._framed(answer.head))

    def _sent(self, answer: Answer, response: mitmproxy.http.Response) -> Commands:
        client = self.context.client
        sender = AnswerSender(client, self.stream_id, self._gateway, self._connection, self._client_is_gone)
        yield from sender.send(answer, response)

    def _ask(self, message: mitmproxy.http.Request, pending: Pending) -> layer.CommandGenerator[Answer]:
        """Return the answer; interim responses of the origin are sent to the client first.

        Not over HTTP/1.0, which has none (RFC 9110 15.2).
        """
        client = self.context.client
        if message.http_version == "HTTP/1.0":
            return (yield from wait(lambda: self._gateway.answer(pending, no_interim, self.upload)))
        exchange = AnswerSequence(lambda interim: self._gateway.answer(pending, interim, self.upload))
        while isinstance(result := (yield from wait(exchange.next)), Head):
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
        yield from self._sent(answer, response)
        self.flow.live = False
        yield layers.HttpResponseHook(self.flow)

    def _framed(self, head: Head) -> mitmproxy.http.Response:
        is_incomplete = self.upload is not None and not self.upload.ended
        return framed(head, self._request, self._gateway.now(), is_incomplete=is_incomplete)

    def state_wait_for_response_headers(self, event: layers.ResponseHeaders) -> Commands:
        """Read the head of a response as mitmproxy does, unless it is larger than those of other responses may be."""
        if not bounds.is_oversized(event.response):
            yield from super().state_wait_for_response_headers(event)
            return
        yield commands.CloseConnection(self.context.server)
        message, code = "the head of the origin's answer is too large", layers.ErrorCode.GENERIC_SERVER_ERROR
        yield from self.handle_protocol_error(layers.ResponseProtocolError(self.stream_id, message, code))

    def _client_is_gone(self) -> bool:
        return any(isinstance(event, layers.RequestProtocolError) for event in self._paused_event_queue)

    def handle_protocol_error(self, event: layers.RequestProtocolError | layers.ResponseProtocolError) -> Commands:
        """Drop the stream of a client that disconnected during the answer; else do as mitmproxy does."""
        if self._request is not None:
            yield layers.DropStream(self.stream_id)
            return
        is_unanswered = self.server_state in (self.state_uninitialized, self.state_wait_for_response_headers)
        for command in super().handle_protocol_error(event):
            if is_unanswered and isinstance(command, layers.SendHttp) and command.event is event:
                yield from self._send_failure(event)
            else:
                yield command

    def _send_failure(self, event: layers.RequestProtocolError | layers.ResponseProtocolError) -> Commands:
        """Send the error response to a request that mitmproxy could not forward, in place of its own page."""
        request, client = self.flow.request, self.context.client
        if event.code is layers.ErrorCode.CONNECT_FAILED:
            failure = tunnel_failure(event.message, request.host, request.port)
        else:
            failure = upgrade_failure(event.message)
        status, reason, message, advice = failure
        lines = (("Cache-Status", f"{cache_status.NAME}; detail={reason}"), ("Connection", "close"))
        response = error_response(request, status, message, *lines, detail=reason, advice=advice)
        yield layers.SendHttp(layers.ResponseHeaders(self.stream_id, response, end_stream=False), client)
        if request.method != "HEAD":
            yield layers.SendHttp(layers.ResponseData(self.stream_id, response.content or b""), client)
        yield layers.SendHttp(layers.ResponseEndOfMessage(self.stream_id), client)


def _announced_length(request: mitmproxy.http.Request) -> int | None:
    """Return the announced length of the content, bytes; None if in chunks or frames. ValueError if ambiguous."""
    if request.is_http2:
        length = request.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None
    return http1.expected_http_body_size(request)


def _continue() -> mitmproxy.http.Response:
    return mitmproxy.http.Response(b"HTTP/1.1", 100, b"Continue", mitmproxy.http.Headers(), None, None, 0.0, None)
