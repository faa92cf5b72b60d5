"""Bounds on the messages of one client that mitmproxy's HTTP layer holds in memory.

mitmproxy sets no bound: it keeps a head until it is complete, content until there is a connection to write it to, and
an answer until an HTTP/2 client opens its flow-control window. `layer.CachingHttpLayer` asks here after each event.
"""

from collections.abc import Iterable

from mitmproxy.proxy import events
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import Http1Connection, Http1Server, Http2Server, HttpStream, RequestData

HEAD_BYTES = 64 * 1024
"""The largest head of an HTTP/1 message. (Of HTTP/2 the library h2 sees to that, with the same limit.)"""
PIPELINED_BYTES = 1 << 20
"""How much a client may send ahead of the answer that it waits for."""
WAITING_BYTES = 1 << 20
"""How much of what comes on one connection may wait: an upload, or what goes through a tunnel, for the connection to
the origin; what an origin sends through mitmproxy, for an HTTP/2 client to open its flow-control window."""
WINDOW_BYTES = 256 * 1024
"""How much of an answer of ours may wait for that window."""
LEAST_BYTES = 64 * 1024
"""What a connection may have waiting in any case, however many there are."""
PROMPT_BYTES = 32 * 1024
"""Of how much the window must be open for more of an answer where the connection's share is used up."""

HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def parser_of(handler: Layer | None) -> Http1Connection | None:
    """Return the parser of an HTTP/1 connection, the last of its layers; None for HTTP/2."""
    parser = None if handler is None else handler.context.layers[-1]
    return parser if isinstance(parser, Http1Connection) else None


def has_begun_head(parser: Http1Connection | None) -> bool:
    """Whether a part of a head, and no more, has been read."""
    return parser is not None and parser.state == parser.read_headers and bool(parser.buf)


def is_endless(parser: Http1Connection) -> bool:
    """Whether its peer has sent more than it can make use of.

    That is a head without end (of a message, a chunk or trailers), or too many requests ahead of the answer.
    """
    return len(parser.buf) > (PIPELINED_BYTES if parser.state == parser.wait else HEAD_BYTES)


def last_words(parser: Http1Connection) -> bytes:
    """Return what is sent before an endless connection is closed, and forget what was read of it."""
    parser.buf.maybe_extract_at_most(len(parser.buf))
    return HEAD_TOO_LARGE if isinstance(parser, Http1Server) and parser.state == parser.read_headers else b""


def paused_bytes(streams: Iterable[HttpStream]) -> int:
    """Return how many bytes of a client wait for connections to origins, for requests as well as in tunnels."""
    total = 0
    for stream in streams:
        upload = getattr(stream, "upload", None)
        total += 0 if upload is None else upload.waiting_bytes
        for paused in (stream, getattr(stream.child_layer, "layer", None)):
            if paused is not None:
                queued = paused._paused_event_queue  # noqa: SLF001 - mitmproxy's own subclasses look into it too
                total += sum(len(e.data) for e in queued if isinstance(e, (RequestData, events.DataReceived)))
    return total


def window_bytes(client: Layer, stream_id: int) -> int:
    """Return how many bytes of an answer wait for the flow-control window of a client; 0 over HTTP/1."""
    if not isinstance(client, Http2Server):
        return 0
    return sum(len(part.data) for part in client.h2_conn.stream_buffers.get(stream_id, ()))


def has_room(client: Layer, stream_id: int, share_bytes: int) -> bool:
    """Whether a piece more of an answer may be handed over: not much of it waits, nor of all on its connection.

    Where these have used up the connection's share, an answer goes on as fast as the client takes it, so that one that
    it does not take holds up no other.
    """
    if not isinstance(client, Http2Server):
        return True
    waiting = window_bytes(client, stream_id)
    if waiting > WINDOW_BYTES:
        return False
    if sum(window_bytes(client, number) for number in client.h2_conn.stream_buffers) <= share_bytes:
        return True
    if client.is_closed(stream_id):
        return True  # it is of no use to wait
    return not waiting and client.h2_conn.local_flow_control_window(stream_id) >= PROMPT_BYTES
