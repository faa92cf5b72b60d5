"""What is sent is framed by us alone, and an answer that can be read in two ways is refused."""

import pytest

from bestbefore.addon.proxy.origin.framing import (
    MalformedError,
    content_frame,
    framed_head,
    request_head,
    response_head,
)
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target


def request(method: str = "GET", url: str = "http://a.test/x?y", *fields: tuple[str, str]) -> Request:
    return Request(method, Target.parse(url), Fields(fields))


def test_a_request_is_framed_by_its_content_and_not_by_its_fields() -> None:
    """Whatever a client said of framing, addressing or its connection is replaced."""
    lies = (
        ("Host", "b.test"), ("Content-Length", "52"), ("transfer-encoding", "chunked"), ("Connection", "host"),
        ("Expect", "100-continue"), ("TE", "trailers"), ("Upgrade", "h2c"), ("X", "1"),
    )  # fmt: skip
    assert request_head(request("GET", "http://a.test/x?y", *lies), absolute=False, length=0, close=False) == (
        b"GET /x?y HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n\r\n"
    )
    assert request_head(request("PUT", "http://a.test:81/", *lies), absolute=True, length=3, close=True) == (
        b"PUT http://a.test:81/ HTTP/1.1\r\nHost: a.test:81\r\nX: 1\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    )
    assert request_head(request("GET"), absolute=False, length=None, close=False).endswith(
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    assert b"Content-Length: 0\r\n" in request_head(request("POST"), absolute=False, length=0, close=False)


@pytest.mark.parametrize(
    "bad",
    [
        Request("GE T", Target.parse("http://a.test/")),
        Request("GET", Target("http", "a.test", 80, "/ HTTP/1.1\r\nX: y")),
        Request("GET", Target("http", "", 80, "/")),
        Request("GET", Target("http", "a b", 80, "/")),
        request("GET", "http://a.test/", ("X", "1\r\nY: 2")),
        request("GET", "http://a.test/", ("X: 1\r\nY", "2")),
        request("GET", "http://a.test/", ("X ", "2")),
        request("GET", "http://a.test/", ("", "2")),
    ],
)
def test_what_could_be_read_as_something_else_is_not_sent(bad: Request) -> None:
    with pytest.raises(MalformedError):
        request_head(bad, absolute=False, length=0, close=False)


def test_bytes_beyond_ascii_are_sent_as_they_came() -> None:
    head = request_head(
        Request("GET", Target.of("http", "a.test", 80, "/\xe9?"), Fields([("X", "\xe9")])),
        absolute=False, length=0, close=False,
    )  # fmt: skip
    assert head == b"GET /\xe9? HTTP/1.1\r\nHost: a.test\r\nX: \xe9\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "expected", "sound"),
    [
        (b"HTTP/1.1 200 OK\r\nA: 1\r\n\r\n", Head(200, Fields([("A", "1")]), "OK"), True),
        (b"HTTP/1.0 404 Non trouv\xe9\r\n\r\n", Head(404, Fields(), "Non trouvé"), True),
        (b"HTTP/1.1 200\r\nA:1\r\n\r\n", Head(200, Fields([("A", "1")])), True),
        (b"HTTP/1.1 200 a\x00b\x1b\r\n\r\n", Head(200, Fields(), "ab"), True),
        (b"HTTP/1.1 200 OK\nA: 1\n\n", Head(200, Fields([("A", "1")]), "OK"), True),
        (b"HTTP/1.1 200 OK\r\nA : 1\r\n\r\n", Head(200, Fields([("A", "1")]), "OK"), False),
        (b"HTTP/1.1 200 OK\r\nA: 1,\r\n  2\r\n\r\n", Head(200, Fields([("A", "1, 2")]), "OK"), False),
    ],
)
def test_heads_that_can_be_read(raw: bytes, expected: Head, sound: bool) -> None:
    assert response_head(raw) == (expected, int(raw[7:8]), sound)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 000 x\r\n\r\n", b"HTTP/1.1 099 x\r\n\r\n", b"HTTP/1.1 20 x\r\n\r\n", b"HTTP/1.1 2000 x\r\n\r\n",
        b"HTTP/2 200 x\r\n\r\n", b"HTTP/1.1  200 x\r\n\r\n", b"http/1.1 200 x\r\n\r\n", b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 200 x\r\n: 1\r\n\r\n", b"HTTP/1.1 200 x\r\nA\r\n\r\n", b"HTTP/1.1 200 x\r\nA B: 1\r\n\r\n",
        b"HTTP/1.1 200 x\r\nA: \x00\r\n\r\n", b"HTTP/1.1 200 x\r\nA: 1\rB: 2\r\n\r\n",
        b"HTTP/1.1 200 x\r\n A: 1\r\n\r\n",
        b"HTTP/1.1 200 x\r\nContent-Length: 1\r\n 2\r\n\r\n", b"HTTP/1.1 200 x\r\n" + b"A: 1\r\n" * 129 + b"\r\n",
    ],
)  # fmt: skip
def test_heads_that_are_refused(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        response_head(raw)


def frame(method: str, status: int, *fields: tuple[str, str], minor: int = 1) -> tuple[int | None, bool, bool]:
    found = content_frame(method, Head(status, Fields(fields)), minor)
    return found.length, found.chunked, found.sound


LENGTH = ("Content-Length", "5")
CHUNKED = ("Transfer-Encoding", "chunked")


def test_where_content_ends() -> None:
    """RFC 9112 6.3."""
    assert frame("GET", 200, LENGTH) == (5, False, True)
    assert frame("GET", 200, CHUNKED) == (None, True, True)
    assert frame("GET", 200, ("Transfer-Encoding", "Chunked")) == (None, True, True)
    assert frame("GET", 200) == (None, False, False)
    assert frame("GET", 200, ("Transfer-Encoding", "identity")) == (None, False, False)
    assert frame("HEAD", 200, ("Transfer-Encoding", "gzip")) == (0, False, True)
    assert frame("HEAD", 200, LENGTH) == (0, False, True)
    assert frame("HEAD", 200, CHUNKED) == (0, False, True)
    assert frame("GET", 304, LENGTH) == (0, False, True)
    assert frame("GET", 204) == (0, False, True)
    assert frame("GET", 204, LENGTH) == (0, False, False)
    assert frame("GET", 200, LENGTH, LENGTH) == (5, False, False)
    assert frame("GET", 200, ("Content-Length", "5, 5")) == (5, False, False)
    assert frame("GET", 200, LENGTH, ("Connection", "Close")) == (5, False, False)
    assert frame("GET", 200, LENGTH, minor=0) == (5, False, False)
    assert frame("GET", 200, LENGTH, ("Connection", "keep-alive"), minor=0) == (5, False, True)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("status", [200, 304])
@pytest.mark.parametrize(
    "fields",
    [
        (LENGTH, CHUNKED), (LENGTH, ("Content-Length", "6")), (("Content-Length", "5,6"),), (("Content-Length", "-1"),),
        (("Content-Length", "+5"),), (("Content-Length", "5 6"),), (("Content-Length", ""),),
        (("Content-Length", "\u0665"),),
        (("Content-Length", "0x5"),), (("Content-Length", "9" * 19),), (("Transfer-Encoding", "gzip, chunked"),),
        (("Transfer-Encoding", "xchunked"),), (("Transfer-Encoding", "chunked, chunked"),), (CHUNKED, CHUNKED),
        (("Transfer-Encoding", '"chunked"'),), (("Transfer-Encoding", "chunked;x"),),
    ],
)  # fmt: skip
def test_frames_that_are_refused(method: str, status: int, fields: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(MalformedError):
        frame(method, status, *fields)


@pytest.mark.parametrize(
    ("status", "fields", "lengths"),
    [
        (200, (), []),
        (200, (LENGTH,), ["5"]),
        (200, (LENGTH, LENGTH), ["5"]),
        (200, (("Content-Length", "5, 5"),), ["5"]),
        (304, (LENGTH, LENGTH), ["5"]),
        (204, (LENGTH,), []),
        (204, (LENGTH, LENGTH), []),
    ],
)
def test_a_head_is_passed_on_with_one_length_and_a_204_without_any(
    status: int, fields: tuple[tuple[str, str], ...], lengths: list[str]
) -> None:
    head = framed_head(Head(status, Fields([("A", "1"), *fields]), "x"))
    assert (head.status, head.reason, list(head.fields.values("a"))) == (status, "x", ["1"])
    assert list(head.fields.values("content-length")) == lengths


def test_chunks_in_http_1_0_are_refused() -> None:
    with pytest.raises(MalformedError):
        frame("GET", 200, CHUNKED, minor=0)
