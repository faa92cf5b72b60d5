"""What mitmproxy's layers hold, measured on real ones; with real peers: tests/live/clients/test_bounds.py."""

import h2.connection
import pytest
from mitmproxy.http import Request, Response
from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer, NextLayer
from mitmproxy.proxy.layers.http import (
    Http1Client,
    Http1Server,
    Http2Server,
    HttpLayer,
    HTTPMode,
    HttpStream,
    RequestData,
)
from mitmproxy.proxy.layers.http._http_h2 import SendH2Data
from mitmproxy.proxy.layers.tcp import TCPLayer
from mitmproxy.proxy.tunnel import TunnelLayer

from bestbefore.addon.proxy.mitm.memory import bounds


def feed(parser: Layer, data: bytes) -> None:
    list(parser.handle_event(events.DataReceived(parser.context.client, data)))


def test_a_head_is_endless_from_64_kib_on_until_it_ends(context: Context) -> None:
    parser = Http1Client(context)
    list(parser.handle_event(events.Start()))
    parser.request, parser.stream_id = Request.make("GET", "http://a/"), 1
    feed(parser, b"HTTP/1.1 200 OK\r\nX: ")
    feed(parser, b"x" * (bounds.HEAD_BYTES - len(parser.buf)))
    assert not bounds.exceeds_bounds(parser)
    feed(parser, b"x")
    assert bounds.exceeds_bounds(parser)


@pytest.mark.parametrize(("lines", "is_oversized"), [
    ([(b"X", bytes(65_000))], False),
    ([(b"X", bytes(66_000))], True),
    ([(b"X", b"")] * 128, False),
    ([(b"X", b"")] * 129, True),
])
def test_a_response_head_that_came_whole_has_the_same_bound(
    lines: list[tuple[bytes, bytes]], is_oversized: bool
) -> None:
    response = Response.make()
    response.headers.fields = tuple(lines)
    assert bounds.is_oversized(response) is is_oversized


def test_requests_ahead_of_the_answer_may_take_more(context: Context) -> None:
    parser = Http1Server(context)
    list(parser.handle_event(events.Start()))
    feed(parser, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    feed(parser, b"x" * bounds.PIPELINED_BYTES)
    assert not bounds.exceeds_bounds(parser)
    feed(parser, b"x")
    assert bounds.exceeds_bounds(parser)


def test_the_parser_is_the_last_layer_of_a_connection(context: Context) -> None:
    parser = Http1Client(context)
    assert bounds.http1_parser(parser) is parser
    assert bounds.http1_parser(Http2Server(context)) is None
    assert bounds.http1_parser(None) is None


def test_what_waits_for_a_paused_stream_is_counted(context: Context) -> None:
    parent = HttpLayer(context, HTTPMode.regular)
    streams = [HttpStream(parent.context.fork(), number) for number in (1, 3)]
    assert bounds.paused_bytes(streams) == 0
    for stream in streams:
        stream._paused_event_queue.append(RequestData(stream.stream_id, b"x" * 10))
    assert bounds.paused_bytes(streams) == 20


@pytest.mark.parametrize("is_behind_parent", [True, False])
def test_what_waits_in_a_tunnel_for_its_origin_is_counted(context: Context, is_behind_parent: bool) -> None:
    stream, opening = HttpStream(context, 1), NextLayer(context)
    if is_behind_parent:
        stream.child_layer = TunnelLayer(context, context.server, context.server)
        stream.child_layer.child_layer = opening
    else:
        stream.child_layer = opening
    opening.layer = TCPLayer(context)
    data = events.DataReceived(context.client, b"x" * 10)
    opening.events.append(data)
    assert bounds.paused_bytes([stream]) == 10
    opening._paused_event_queue.append(data)
    opening.layer._paused_event_queue.append(data)
    assert bounds.paused_bytes([stream]) == 30
    opening.layer = TunnelLayer(context, context.client, context.client)  # TLS, and what was chosen within
    assert isinstance(opening.layer.child_layer, NextLayer)
    opening.layer.child_layer.events.append(data)
    assert bounds.paused_bytes([stream]) == 30


def test_what_waits_for_the_window_is_counted_by_stream(context: Context) -> None:
    client = Http2Server(context)
    client.h2_conn.stream_buffers[1].append(SendH2Data(b"x" * 10, end_stream=False))
    assert [bounds.window_bytes(client, stream_id) for stream_id in (1, 3)] == [10, 0]
    assert 3 not in client.h2_conn.stream_buffers
    assert bounds.window_bytes(Http1Server(context), 1) == 0


def test_an_answer_goes_on_as_fast_as_its_window_opens_where_the_share_is_used_up(context: Context) -> None:
    share = 2 * bounds.MIN_SHARE_BYTES
    client = Http2Server(context)
    peer = h2.connection.H2Connection()
    peer.initiate_connection()
    for number in (1, 3):
        pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")]
        peer.send_headers(number, pseudo, end_stream=True)
    client.h2_conn.initiate_connection()
    client.h2_conn.receive_data(peer.data_to_send())
    assert bounds.has_room(client, 1, share)
    client.h2_conn.stream_buffers[1].append(SendH2Data(bytes(share + 1), end_stream=False))
    assert not bounds.has_room(client, 1, share), "much waits"
    assert bounds.has_room(client, 3, share), "this one can be sent"
    client.h2_conn.send_data(3, bytes(40_000))
    client.h2_conn.data_to_send()
    assert not bounds.has_room(client, 3, share), "the window of the connection is nearly closed"
    assert bounds.has_room(client, 3, 2 * share + 1)
    assert bounds.has_room(Http1Server(context), 1, 0)
