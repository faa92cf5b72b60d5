"""Answers at the bytes beside those on mitmproxy's way: the same to the same requests, on real sockets."""

import re
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import pytest

pytestmark = pytest.mark.live

BODY = bytes(range(256)) * 8
NOT_ALIKE = re.compile(rb"(?<=\r\nDate: )[^\r]*|(?<=\r\nAge: )\d+|(?<=; ttl=)\d+|[0-9a-f]{32}")
"""The last: the boundary of several ranges, which is made of the head."""
REQUESTS = (
    (b"GET", b""),
    (b"HEAD", b""),
    (b"GET", b'If-None-Match: "1"\r\n'),
    (b"GET", b"Range: bytes=2-5\r\n"),
    (b"GET", b"Range: bytes=0-1,8-9\r\n"),
    (b"GET", b"Range: bytes=9999-\r\n"),
    (b"GET", b"Cache-Control: only-if-cached\r\n"),
    (b"GET", b"Connection: close\r\n"),
)
HITS = 'bestbefore_requests_total{outcome="hit",reason="max-age"}'



class Connection:
    """A connection to the proxy, or through its tunnel to an origin."""

    def __init__(self, port: int, url: str, *, intercepted: bool) -> None:
        self.target = b"/" if intercepted else url.encode() + b"/"
        self.host = url.partition("://")[2].encode()
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        if intercepted:
            self._socket.sendall(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (self.host, self.host))
            assert b" 200 " in self._socket.recv(4096)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self._socket = context.wrap_socket(self._socket, server_hostname="localhost")

    def request(self, method: bytes, lines: bytes) -> bytes:
        return b"%b %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (method, self.target, self.host, lines)

    def send(self, *pieces: bytes) -> None:
        """Send pieces, with time for the proxy to read each by itself."""
        for number, piece in enumerate(pieces):
            time.sleep(0.02 if number else 0)
            self._socket.sendall(piece)

    def response(self, method: bytes) -> bytes:
        """The next response, without what changes with time."""
        while b"\r\n\r\n" not in self._received:
            self._read()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        size = int(length[1]) if length and method != b"HEAD" and b" 304 " not in head else 0
        while len(self._received) < size:
            self._read()
        body, self._received = self._received[:size], self._received[size:]
        return NOT_ALIKE.sub(b"", head + b" " + body)

    def _read(self) -> None:
        self._received += self._socket.recv(65536) or pytest.fail("the connection was closed")

    def is_closed(self) -> bool:
        return self._socket.recv(1) == b""

    def close(self) -> None:
        self._socket.close()


@pytest.mark.parametrize("intercepted", [False, True])
def test_hits_are_the_same_whether_requests_come_whole_in_pieces_or_at_once(
    shared_proxy: Any, start_raw_origin: Callable[..., str], authority: Any, intercepted: bool
) -> None:
    head = b'HTTP/1.1 200 OK\r\nETag: "1"\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n' % len(BODY)
    url = start_raw_origin(head + BODY, authority.leaf_file if intercepted else None)
    connect = partial(Connection, shared_proxy.port, url, intercepted=intercepted)
    with closing(connect()) as connection:
        connection.send(connection.request(b"GET", b""))
        assert b"fwd=uri-miss" in connection.response(b"GET")
        connection.send(connection.request(b"GET", b""))
        assert b"; hit" in connection.response(b"GET")  # so that there is a count of them
    hits = shared_proxy.metric(HITS)
    in_pieces, whole = list[bytes](), list[bytes]()
    for cut, found in ((5, in_pieces), (None, whole)):
        with closing(connect()) as connection:
            for method, lines in REQUESTS:
                request = connection.request(method, lines)
                connection.send(*([request] if cut is None else [request[:-cut], request[-cut:]]))
                found.append(connection.response(method))
            assert connection.is_closed()
    with closing(connect()) as connection:
        connection.send(b"".join(connection.request(method, lines) for method, lines in REQUESTS))
        at_once = [connection.response(method) for method, _ in REQUESTS]
        assert connection.is_closed()
    assert all(b"; hit; ttl=" in response for response in whole)
    assert [response[9:12] for response in whole] == [b"200", b"200", b"304", b"206", b"206", b"416", b"200", b"200"]
    assert whole == in_pieces == at_once
    assert shared_proxy.metric(HITS) - hits == 3 * len(REQUESTS)


def test_an_answer_is_repeated_on_other_connections_until_the_copy_is_gone(
    shared_proxy: Any, start_raw_origin: Callable[..., str]
) -> None:
    url = start_raw_origin(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nok")

    def responses(connection: Connection, *methods: bytes) -> list[bytes]:
        found = []
        for method in methods:
            connection.send(connection.request(method, b""))
            found.append(connection.response(method))
        return found

    with (
        closing(Connection(shared_proxy.port, url, intercepted=False)) as one,
        closing(Connection(shared_proxy.port, url, intercepted=False)) as other,
    ):
        missed, hit, *_ = responses(one, *[b"GET"] * 4)
        assert b"fwd=uri-miss" in missed
        hits = shared_proxy.metric(HITS)
        assert responses(other, b"GET", b"GET", b"HEAD")[:2] == [hit, hit]
        assert responses(one, b"GET") == [hit]
        assert shared_proxy.metric(HITS) - hits == 4
        assert b" 200 " in responses(other, b"PURGE")[0]
        assert responses(one, b"GET") == [missed]


CONTENT = b"x" * 2000 + b"END"
NOT_STORED = b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n%b\r\n" + CONTENT
WITH_LENGTH = NOT_STORED % (b"Content-Length: %d\r\n" % len(CONTENT))


@pytest.mark.parametrize("intercepted", [False, True])
@pytest.mark.parametrize(
    "response",
    [
        WITH_LENGTH,
        NOT_STORED % b"",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" + WITH_LENGTH,
        WITH_LENGTH.replace(b"200 OK", b"400 Bad Request"),
        WITH_LENGTH + b"surplus",
    ],
    ids=["with its length", "to the end", "with early hints", "a refusal", "with surplus"],
)
def test_misses_are_the_same_whether_requests_come_whole_in_pieces_or_at_once(
    shared_proxy: Any, start_raw_origin: Callable[..., str], authority: Any, response: bytes, intercepted: bool
) -> None:
    url = start_raw_origin(response, authority.leaf_file if intercepted else None)
    found = []
    for pieces in ((slice(-5), slice(-5, None)), (slice(None),)):
        with closing(Connection(shared_proxy.port, url, intercepted=intercepted)) as connection:
            twice = connection.request(b"GET", b"") * 2
            request = twice[: len(twice) // 2]
            connection.send(*(request[piece] for piece in pieces))
            once = _bytes_until(connection, 1)
            if b"close" not in once:
                connection.send(twice)
                once += _bytes_until(connection, 2)
            found.append(once)
    assert found[0] == found[1]
    assert found[0].count(b"END") == (1 if b"400" in response else 3)


def _bytes_until(connection: Connection, ends: int) -> bytes:
    """What arrives until the content has ended so many times, without what changes with time."""
    received = b""
    while received.count(b"END") < ends or (b"chunked" in received and not received.endswith(b"\r\n0\r\n\r\n")):
        received += connection._socket.recv(65536) or pytest.fail("the connection was closed")
    return re.sub(rb"(?<=\r\nDate: )[^\r]*", b"", received)


@pytest.mark.parametrize("line", [b"", b"TE: trailers\r\n"], ids=["simple", "unusual"])
def test_all_of_a_thousand_pipelined_requests_are_answered_to_a_client_that_reads_late(
    shared_proxy: Any, start_raw_origin: Callable[..., str], line: bytes
) -> None:
    head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n" % len(CONTENT)
    url = start_raw_origin(head + CONTENT)
    with closing(Connection(shared_proxy.port, url, intercepted=False)) as connection:
        connection.send(connection.request(b"GET", b""))
        assert b"fwd=uri-miss" in connection.response(b"GET")
        connection.send(connection.request(b"GET", line) * 1000)
        time.sleep(0.5)
        assert all(b"; hit; ttl=" in connection.response(b"GET") for _ in range(1000))
