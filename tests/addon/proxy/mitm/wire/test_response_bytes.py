"""The bytes of responses. That they are mitmproxy's: tests/fuzz."""

import pytest

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.wire.response_bytes import response_bytes
from bestbefore.addon.rfc9111.message import Fields, Head


@pytest.mark.parametrize(
    ("method", "status", "lines", "body", "expected"),
    [
        ("GET", 200, [("Content-Length", "2")], b"ab", b"Content-Length: 2\r\n\r\nab"),
        ("GET", 200, [], b"ab", b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
        ("GET", 200, [], b"", b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("HEAD", 200, [("Content-Length", "2")], b"", b"Content-Length: 2\r\n\r\n"),
        ("HEAD", 200, [], b"", b"\r\n"),
        ("GET", 304, [("ETag", '"\xe9\u20ac"')], b"", b'ETag: "\xe9?"\r\n\r\n'),
        ("GET", 204, [], b"", b"\r\n"),
    ],
)
def test_a_response_is_framed(
    method: str, status: int, lines: list[tuple[str, str]], body: bytes, expected: bytes
) -> None:
    sent = response_bytes(Answer(Head(status, Fields(lines), "A reason"), body), method)
    assert sent == b"HTTP/1.1 %d A reason\r\n" % status + expected
