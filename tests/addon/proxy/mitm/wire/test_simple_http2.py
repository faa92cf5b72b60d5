"""Which requests over HTTP/2 are simple. Mutated ones, beside mitmproxy's reading: tests/fuzz."""

import pytest

from bestbefore.addon.proxy.mitm.wire.simple_http2 import http2_request
from bestbefore.addon.proxy.mitm.wire.simple_request import FixedServer

SERVER = FixedServer("https", "a.test", 443, is_reverse=False)
PSEUDO = ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"a.test"), (b":path", b"/x?y"))


def test_a_request_for_the_server_of_the_connection_is_read() -> None:
    request = http2_request((*PSEUDO, (b"accept", b"*/*")), SERVER)
    assert request is not None
    assert (request.method, request.target.url, request.version) == ("GET", "https://a.test/x?y", "HTTP/2.0")
    assert request.fields.raw == (("accept", "*/*"),)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (0, (b":method", b"POST")),
        (1, (b":scheme", b"http")),
        (2, (b":authority", b"b.test")),
        (2, (b":authority", b"a.test:443")),
        (3, (b":path", b"*")),
        (3, (b":path", b"/#x")),
        (3, (b":path", b"/\xe9")),
        (3, (b"accept", b"*/*")),
        (4, (b":protocol", b"websocket")),
        (4, (b"host", b"a.test")),
        (4, (b"content-length", b"0")),
        (4, (b"expect", b"100-continue")),
        (4, (b"connection", b"close")),
        (4, (b"te", b"trailers")),
        (4, (b"Accept", b"*/*")),
        (4, (b"accept", b" x")),
        (4, (b"accept", b"x\r\ny")),
        (4, (b"accept", b"\xe9")),
        (5, (b"accept", b"text/html")),
    ],
)
def test_anything_unusual_is_not_read(number: int, line: tuple[bytes, bytes]) -> None:
    lines = [*PSEUDO, (b"accept", b"*/*")]
    lines[number : number + 1] = [line]
    assert http2_request(lines, SERVER) is None


def test_a_reverse_proxy_names_the_origin_itself() -> None:
    assert http2_request(PSEUDO, FixedServer("https", "a.test", 443, is_reverse=True)) is None
