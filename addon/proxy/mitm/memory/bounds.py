"""Bounds on the messages of one client that mitmproxy's HTTP layer holds in memory.

mitmproxy sets no bound: it keeps a head until the head is complete, content until there is a connection to write to,
and a response until an HTTP/2 client opens its flow-control window. `layer.CachingHttpLayer` checks these bounds after
each event.
"""

from collections.abc import Iterable
from typing import Any

from mitmproxy.http import Response
from mitmproxy.proxy import events
from mitmproxy.proxy.layer import Layer, NextLayer
from mitmproxy.proxy.layers.http import Http1Connection, Http2Server, HttpStream, RequestData

from bestbefore.addon.proxy.origin.framing import MAX_FIELDS

HEAD_BYTES = 64 * 1024
"""The largest head of an HTTP/1 message. (For HTTP/2 the library h2 enforces the same limit.)"""
PIPELINED_BYTES = 1 << 20
"""How much a client may send before it has received the response to its last request."""
WAITING_BYTES = 1 << 20
"""How much data received on one connection may be buffered: of an upload or a tunnel, until the connection to the
origin is open; of an origin's response through mitmproxy, until an HTTP/2 client opens its flow-control window."""
WINDOW_BYTES = 256 * 1024
"""How much of a response of the proxy's own may be buffered for the flow-control window of its stream."""
MIN_SHARE_BYTES = 64 * 1024
"""How much a connection may buffer in any case, however many connections there are."""
MIN_WINDOW_BYTES = 32 * 1024
"""How far the flow-control window must be open before more is sent to a connection that has used up its share."""


def http1_parser(handler: Layer | None) -> Http1Connection | None:
    """Return the parser of an HTTP/1 connection, which is the last of its layers; None for HTTP/2."""
    parser = None if handler is None else handler.context.layers[-1]
    return parser if isinstance(parser, Http1Connection) else None


def has_begun_head(parser: Http1Connection | None) -> bool:
    """Whether the head of a message has been read in part."""
    return parser is not None and parser.state == parser.read_headers and bool(parser.buf)


def exceeds_bounds(parser: Http1Connection) -> bool:
    """Whether more has been received on a connection than may be buffered.

    The peer has sent a head without end (of a response, a chunk or trailers), or has pipelined too many requests. (The
    heads of requests are bounded by `request_reader`.)
    """
    return len(parser.buf) > (PIPELINED_BYTES if parser.state == parser.wait else HEAD_BYTES)


def is_oversized(response: Response) -> bool:
    """Whether the head of an origin's response, which mitmproxy has read, exceeds the bounds for other responses.

    It may have come whole with the data that completed it, and then `exceeds_bounds` has not seen it.
    """
    lines = response.headers.fields
    return len(lines) > MAX_FIELDS or sum(len(name) + len(value) + 4 for name, value in lines) > HEAD_BYTES


def paused_bytes(streams: Iterable[HttpStream]) -> int:
    """Return how many bytes from a client wait for connections to origins: content of requests, and data in tunnels."""
    total = 0
    for stream in streams:
        upload = getattr(stream, "upload", None)
        total += 0 if upload is None else upload.waiting_bytes
        layer: Any = stream
        while layer is not None:  # of a tunnel, also those that were chosen for what passes in it
            if layer._paused_event_queue:  # noqa: SLF001 - mitmproxy's own subclasses look into it too
                total += _data_bytes(layer._paused_event_queue)  # noqa: SLF001
            if isinstance(layer, NextLayer):
                total += _data_bytes(layer.events) if layer.events else 0
                layer = layer.layer
            else:
                layer = getattr(layer, "child_layer", None)
    return total


def _data_bytes(waiting: Iterable[events.Event]) -> int:
    return sum(len(e.data) for e in waiting if isinstance(e, (RequestData, events.DataReceived)))


def window_bytes(client: Layer, stream_id: int) -> int:
    """Return how many bytes of a response wait for the flow-control window of a client; 0 over HTTP/1."""
    if not isinstance(client, Http2Server):
        return 0
    return sum(len(part.data) for part in client.h2_conn.stream_buffers.get(stream_id, ()))


def has_room(client: Layer, stream_id: int, share_bytes: int) -> bool:
    """Whether more of a response may be sent: little of it is buffered, and little of all responses on its connection.

    Where the responses on a connection have used up its share, each continues only as fast as the client reads it, so
    that a response which the client does not read blocks no other.
    """
    if not isinstance(client, Http2Server):
        return True
    waiting = window_bytes(client, stream_id)
    if waiting > WINDOW_BYTES:
        return False
    if sum(window_bytes(client, number) for number in client.h2_conn.stream_buffers) <= share_bytes:
        return True
    if client.is_closed(stream_id):
        return True  # waiting would never end
    return not waiting and client.h2_conn.local_flow_control_window(stream_id) >= MIN_WINDOW_BYTES
