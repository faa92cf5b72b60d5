"""How an answer is sent to a client: framed for its protocol, at once or in pieces, no faster than it reads."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import mitmproxy.http
from mitmproxy.connection import Client
from mitmproxy.proxy import layer
from mitmproxy.proxy.layers import http as layers

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.gateway import Gateway
from bestbefore.addon.proxy.mitm.stream.client_connection import ClientConnection
from bestbefore.addon.proxy.mitm.translate import response_of
from bestbefore.addon.proxy.mitm.wait import wait
from bestbefore.addon.rfc9111.message import Head

logger = logging.getLogger(__name__)

Commands = layer.CommandGenerator[Any]

WHOLE_BYTES = 256 * 1024
"""Content in memory up to this size is sent at once, if there is room for it."""
PIECE_BYTES = 64 * 1024
"""Larger content in memory is sent in pieces of this size, each when the client has read most of the one before."""


def framed(
    head: Head, request: mitmproxy.http.Request | None, now_s: float, *, is_incomplete: bool
) -> mitmproxy.http.Response:
    """Return the head with the framing that this client's protocol needs.

    `is_incomplete`: content of the request has not been received completely.
    """
    response = response_of(head, now_s=now_s)
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


class AnswerSender:
    """Sends the answer of a stream."""

    def __init__(
        self,
        client: Client,
        stream_id: int,
        gateway: Gateway,
        connection: ClientConnection,
        is_gone: Callable[[], bool],
    ) -> None:
        """`is_gone` returns whether the client has disconnected or reset the stream."""
        self._client = client
        self._stream_id = stream_id
        self._gateway = gateway
        self._connection = connection
        self._is_gone = is_gone

    def send(self, answer: Answer, response: mitmproxy.http.Response) -> Commands:
        """Send an answer, with `response` as its framed head."""
        sent = 0
        at_once = len(answer.body) <= WHOLE_BYTES and self._connection.has_room(self._stream_id)
        chunks = answer.chunks if at_once or not answer.body else pieces(answer.body)
        done = not answer.body and chunks is None
        yield layers.SendHttp(layers.ResponseHeaders(self._stream_id, response, done), self._client)
        if chunks is not None:
            sent = yield from self._send_chunks(answer, chunks)
            if sent < 0:
                return
        elif answer.body:
            yield layers.SendHttp(layers.ResponseData(self._stream_id, answer.body), self._client)
            sent = len(answer.body)
        # A client may have pipelined a thousand requests, and read no response. And mitmproxy reads the next of them in
        # the same call unless something is waited for; Python bounds the depth of calls.
        waits = sent > PIECE_BYTES or self._connection.has_pipelined() or self._gateway.is_behind(self._client)
        if chunks is None and waits and not (yield from self._is_taken()):
            answer.finish(sent, complete=False)
            yield layers.DropStream(self._stream_id)
            return
        answer.finish(sent, complete=True)
        yield layers.DropStream(self._stream_id)
        yield layers.SendHttp(layers.ResponseEndOfMessage(self._stream_id), self._client)

    def _send_chunks(self, answer: Answer, chunks: AsyncGenerator[bytes]) -> Commands:
        """Send the content as it arrives. Returns its size in bytes, or -1 if it was truncated at either end."""
        sent = 0

        async def next_chunk() -> bytes | None:
            await self._gateway.drained(self._client)
            while not self._is_gone() and not await self._connection.window(self._stream_id):
                pass
            return await anext(chunks, None)

        async def close() -> None:
            async with aclosing(chunks):
                pass

        try:
            while (chunk := (yield from wait(next_chunk))) is not None:
                if self._is_gone():
                    yield from wait(close)
                    answer.finish(sent, complete=False)
                    yield layers.DropStream(self._stream_id)
                    return -1
                yield layers.SendHttp(layers.ResponseData(self._stream_id, chunk), self._client)
                sent += len(chunk)
        except Exception as error:
            # The head has been sent, so the exchange must end with an error: the client must not take the content for
            # complete. mitmproxy itself would leave the client waiting without end.
            if not isinstance(error, ConnectionError):
                logger.exception("an answer was interrupted: this is a bug in bestbefore")
            yield from wait(close)
            answer.finish(sent, complete=False)
            yield layers.DropStream(self._stream_id)
            if not self._is_gone():
                code = layers.ErrorCode.GENERIC_SERVER_ERROR
                yield layers.SendHttp(layers.ResponseProtocolError(self._stream_id, str(error), code), self._client)
            return -1
        return sent

    def _is_taken(self) -> layer.CommandGenerator[bool]:
        """Wait until the client has read most of what was sent to it; False if it disconnects before."""
        try:
            yield from wait(lambda: self._gateway.drained(self._client))
        except ConnectionError:
            return False
        return not self._is_gone()


async def pieces(body: bytes) -> AsyncGenerator[bytes]:
    """Yield content in pieces."""
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]
