"""Heads of requests are read strictly; through real sockets: live/clients/test_request_framing."""

import pytest
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import _events as http_events
from mitmproxy.proxy.layers.http._base import ReceiveHttp

from bestbefore.addon.proxy.mitm.memory.bounds import HEAD_BYTES
from bestbefore.addon.proxy.mitm.request_reader import MALFORMED, TOO_LARGE, StrictHttp1Server

type Read = tuple[list[object], bytes]


@pytest.fixture
def server(context: Context) -> StrictHttp1Server:
    made = StrictHttp1Server(context)
    list(made.handle_event(events.Start()))
    return made


def feed(server: StrictHttp1Server, *pieces: bytes) -> Read:
    """What the layer above receives, and what the client is sent."""
    found: list[object] = []
    sent = b""
    for piece in pieces:
        generated: layer.CommandGenerator[None] = server.handle_event(events.DataReceived(server.conn, piece))
        for command in generated:
            if isinstance(command, ReceiveHttp):
                found.append(command.event)
            elif isinstance(command, commands.SendData):
                sent += command.data
    return found, sent


def content(found: list[object]) -> bytes:
    return b"".join(event.data for event in found if isinstance(event, http_events.RequestData))


HEAD = b"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("cut", [10, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1])
@pytest.mark.parametrize(("size", "is_read"), [(HEAD_BYTES, True), (HEAD_BYTES + 1, False)])
def test_a_head_has_one_bound_however_it_comes(
    server: StrictHttp1Server, cut: int, size: int, is_read: bool
) -> None:
    head = b"GET http://a/ HTTP/1.1\r\nHost: a\r\nX: "
    head += b"x" * (size - len(head) - 4) + b"\r\n\r\n"
    found, sent = feed(server, head[:cut], head[cut:])
    assert bool(found) is is_read
    assert sent == (b"" if is_read else TOO_LARGE)


@pytest.mark.parametrize("before", [b"", b"\r\n", b"\r\n\r\n"])
def test_empty_lines_before_a_request_are_skipped(server: StrictHttp1Server, before: bytes) -> None:
    found, _ = feed(server, before + b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
    assert [type(event) for event in found] == [http_events.RequestHeaders, http_events.RequestEndOfMessage]


@pytest.mark.parametrize("cut", range(1, 20))
def test_trailer_fields_are_dropped_and_what_follows_is_kept(server: StrictHttp1Server, cut: int) -> None:
    body = b"3\r\nabc\r\n0\r\nX: 1\r\n\r\n"
    found, _ = feed(server, HEAD + body[:cut], body[cut:] + b"GET")
    assert content(found) == b"abc"
    assert isinstance(found[-1], http_events.RequestEndOfMessage)
    assert bytes(server.buf) == b"GET"


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nX : 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX:\x0b1\r\n\r\n", b"GET / HTTP/1.1\r\nX: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: 1\rY: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: Host: a\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.2\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n", b"GET /\r\n\r\n",
        b"GET / x HTTP/1.1\r\n\r\n",
        b"head / HTTP/1.1\r\nHost: a\r\n\r\n", b"Connect a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"G@T / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nno field\r\n\r\n", b" GET / HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_a_head_that_could_be_read_otherwise_is_refused(server: StrictHttp1Server, head: bytes) -> None:
    assert feed(server, head + b"GET /smuggled HTTP/1.1\r\n\r\n") == ([], MALFORMED)


@pytest.mark.parametrize("chunk", [b"5 \r\nabcde\r\n", b"5\nabcde\n", b"g\r\n"])
def test_a_chunk_that_could_be_read_otherwise_ends_the_request(server: StrictHttp1Server, chunk: bytes) -> None:
    found, _ = feed(server, HEAD + chunk + b"0\r\n\r\n")
    assert isinstance(found[-1], http_events.RequestProtocolError)


@pytest.mark.parametrize(
    "head",
    [
        b"HEAD a HTTP/1.1\r\nHost: a\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_what_mitmproxy_refuses_is_refused_without_content(server: StrictHttp1Server, head: bytes) -> None:
    assert feed(server, head)[1] == MALFORMED


@pytest.mark.parametrize(("method", "has_content"), [(b"HEAD", False), (b"GET", True)])
def test_an_error_has_content_except_for_a_head(server: StrictHttp1Server, method: bytes, has_content: bool) -> None:
    feed(server, method + b" http://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
    error = http_events.ResponseProtocolError(1, "no such host", http_events.ErrorCode.CONNECT_FAILED)
    sent = b"".join(c.data for c in server.handle_event(error) if isinstance(c, commands.SendData))
    head, end, content = sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 502 ")
    assert end
    assert bool(content) is has_content
