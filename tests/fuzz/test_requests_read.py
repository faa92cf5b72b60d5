"""The strict reading, against what RFC 9112 says of each."""

import pytest
from requests_read import Broken, Request, read_all, read_request

HEAD = b"POST http://a/x HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    ("rest", "content"),
    [
        (b"\r\n", b""),
        (b"Content-Length: 3\r\n\r\nabc", b"abc"),
        (b"content-length:\t3 \r\n\r\nabc", b"abc"),
        (b"Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n", b"abc"),
        (b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n02\r\nbc\r\n000\r\n\r\n", b"abc"),
    ],
)
def test_what_is_well_formed_is_read(rest: bytes, content: bytes) -> None:
    read = read_request(HEAD + rest)
    assert isinstance(read, Request)
    assert (read.content, read.refuse, read.end) == (content, "", len(HEAD + rest))
    assert (read.authority, read.path) == (b"a", b"/x")


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "both-framings"),
        (b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "content-length"),
        (b"Content-Length: +3\r\n\r\nabc", "content-length"),
        (b"Content-Length: 3\x0b\r\n\r\nabc", "field-line"),
        (b"Content-Length : 3\r\n\r\nabc", "field-line"),
        (b"Transfer-Encoding: xchunked\r\n\r\n", "transfer-encoding"),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer-encoding"),
        (b"Transfer-Encoding:\r\n chunked\r\n\r\n", "folded"),
        (b"X: y\nContent-Length: 3\r\n\r\nabc", "bare-lf"),
        (b"X: y\rContent-Length: 3\r\n\r\nabc", "bare-cr"),
        (b"Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n", "chunk-size"),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "chunk-end"),
        (b"Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", "bare-lf"),
    ],
)
def test_what_can_be_read_in_two_ways_is_malformed(rest: bytes, reason: str) -> None:
    read = read_request(HEAD + rest)
    assert isinstance(read, Broken)
    assert (read.reason, read.incomplete) == (reason, False)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b"Host: b\r\n\r\n", "host-lines"),
        (b"Connection: close, Content-Length\r\n\r\n", "connection-names-content-length"),
        (b"X Y: z\r\n\r\n", "field-line"),
    ],
)
def test_what_must_be_refused_is_read_to_its_end(rest: bytes, reason: str) -> None:
    read = read_request(HEAD + rest)
    assert isinstance(read, Request)
    assert read.refuse == reason


@pytest.mark.parametrize(
    "sent", [HEAD, HEAD + b"Content-Length: 3\r\n\r\nab", HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab"]
)
def test_what_is_cut_is_incomplete(sent: bytes) -> None:
    read = read_request(sent)
    assert isinstance(read, Broken)
    assert read.incomplete


def test_repairs_are_those_of_the_rfc() -> None:
    sent = b"POST http://a/x HTTP/1.1\nHost: a\nContent-Length: 3, 3\nX: y\n z\n\nabc"
    assert isinstance(read_request(sent), Broken)
    read = read_request(sent, tolerant=True)
    assert isinstance(read, Request)
    assert (read.content, read.values(b"x")) == (b"abc", [b"y z"])


def test_nothing_follows_the_end_of_a_connection() -> None:
    requests, broken = read_all((HEAD + b"Connection: close\r\n\r\n") * 2)
    assert (len(requests), broken) == (1, None)


def test_a_target_that_is_not_ascii_is_encoded() -> None:
    read = read_request(b"GET /a\x85 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert isinstance(read, Request)
    assert (read.target, read.encoded, read.refuse) == (b"/a%85", True, "")
