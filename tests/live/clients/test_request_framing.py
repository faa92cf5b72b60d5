"""How a request says where it ends: what disagrees is refused, and what goes on is framed anew. HTTP/1 and HTTP/2."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest
from asyncio_servers import end

pytestmark = pytest.mark.live

type Line = tuple[str, str]

PATIENCE_S = 30.0
"""Long enough for a busy machine."""


class Recorder(asyncio.Protocol):
    """Answers each head with a short content, and keeps what came."""

    _transport: asyncio.Transport

    def __init__(self, received: list[bytearray], connections: "list[Recorder]", version: str) -> None:
        self._connections, self._version = connections, version.encode()
        self._received = bytearray()
        received.append(self._received)
        self._heads = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.append(self)

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._received.count(b"\r\n\r\n") > self._heads:
            self._heads += 1
            self._transport.write(b"%s 200 OK\r\nContent-Length: 2\r\n\r\nok" % self._version)


@asynccontextmanager
async def recording(
    tls: ssl.SSLContext | None = None, version: str = "HTTP/1.1"
) -> AsyncIterator[tuple[str, list[bytearray]]]:
    """An origin while it serves: its authority, and what came on each connection."""
    received: list[bytearray] = []
    connections: list[Recorder] = []

    def connected() -> Recorder:
        return Recorder(received, connections, version)

    server = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0, ssl=tls)
    host = "127.0.0.1" if tls is None else "localhost"
    try:
        yield f"{host}:{server.sockets[0].getsockname()[1]}", received
    finally:
        await end(server, connections)


async def exchange(port: int, sent: bytes, patience_s: float = PATIENCE_S) -> bytes:
    """What is answered, to the end of the first answer's content or the connection's."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    received = b""
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(patience_s):
            while chunk := await reader.read(65536):
                received += chunk
                head, end, content = received.partition(b"\r\n\r\n")
                told = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                if end and told is not None and (len(content) >= int(told[1]) or sent.startswith(b"HEAD")):
                    break
    writer.transport.abort()
    return received


async def refused(port: int, request: Callable[[str], Sequence[str]], content: str = "") -> tuple[int, bytes]:
    """The status of the answer to one request, and all that reached the origin."""
    async with recording() as (authority, received):
        answer = await exchange(port, "\r\n".join((*request(authority), "", content)).encode("latin-1"))
    return int(answer.split(b" ")[1]) if answer else 0, b"".join(received)


NAMED = ("Content-Length", "Transfer-Encoding", "Host", "Authorization", "Cookie", "close, content-length", "TE, host")


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_connection_names_nothing_that_frames_addresses_or_authenticates(
    shared_proxy: Any, named: str, method: str
) -> None:
    def request(authority: str) -> Sequence[str]:
        framed = ["Content-Length: 4"] if method == "POST" else []
        lines = (f"Connection: {named}", "Authorization: x", "Cookie: a=b", *framed)
        return (f"{method} http://{authority}/x HTTP/1.1", f"Host: {authority}", *lines)

    status, received = await refused(shared_proxy.port, request, "abcd" if method == "POST" else "")
    assert (status, received) == (400, b"")


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Transfer-Encoding:\x0bchunked",),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding:\r\n chunked",),
        ("Transfer-Encoding: chunked", " Transfer-Encoding: x"),
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: +5",),
        ("Content-Length: 5\x0b",),
        ("Content-Length: 0x5",),
        ("Content-Length: 5, 6",),
        ("Content-Length: 99999999999999999999",),
        ("Content-Length: -1",),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_framing_that_can_be_read_in_two_ways_is_refused(
    shared_proxy: Any, lines: Sequence[str], method: str
) -> None:
    status, received = await refused(
        shared_proxy.port,
        lambda authority: (f"{method} http://{authority}/x HTTP/1.1", f"Host: {authority}", *lines),
        "0\r\n\r\n",
    )
    assert (status, received) == (400, b"")


@pytest.mark.parametrize(
    "chunk",
    [
        "5 \r\nabcde\r\n",
        "+5\r\nabcde\r\n",
        "0x5\r\nabcde\r\n",
        "5\r\nabcdeXX",
        "5\nabcde\r\n",
        "g\r\n",
        "ffffffffffffffff\r\nabc",
    ],
)
async def test_a_malformed_chunk_never_completes_a_request(shared_proxy: Any, chunk: str) -> None:
    def request(authority: str) -> Sequence[str]:
        return (f"POST http://{authority}/x HTTP/1.1", f"Host: {authority}", "Transfer-Encoding: chunked")

    _, received = await refused(shared_proxy.port, request, chunk + "0\r\n\r\n")
    assert not received.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(("method", "lines"), [
    ("GET", ("Expect: 100-continue",)), ("HEAD", ("Expect: 100-continue",)), ("GET", ("Content-Length: 0",)),
    ("DELETE", ("Expect: 100-continue",)), ("OPTIONS", ("Expect: 100-continue",)),
])  # fmt: skip
async def test_what_announces_content_goes_where_there_is_none(
    shared_proxy: Any, method: str, lines: Sequence[str]
) -> None:
    status, received = await refused(
        shared_proxy.port,
        lambda authority: (f"{method} http://{authority}/x HTTP/1.1", f"Host: {authority}", *lines),
    )
    assert status == 200
    assert not re.search(rb"(?i)\r\n(expect|content-length|transfer-encoding):", received), received


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_absolute_target_names_the_host(shared_proxy: Any, method: str) -> None:
    status, received = await refused(
        shared_proxy.port, lambda authority: (f"{method} http://{authority}/x HTTP/1.1", "Host: elsewhere.example")
    )
    assert b"elsewhere" not in received
    assert status in (200, 400, 421)


@pytest.mark.parametrize("trailer", ["X-T: 1", "Content-Length: 5", "Transfer-Encoding: chunked"])
async def test_a_request_with_trailers_is_answered(shared_proxy: Any, trailer: str) -> None:
    def request(authority: str) -> Sequence[str]:
        return (f"POST http://{authority}/x HTTP/1.1", f"Host: {authority}", "Transfer-Encoding: chunked")

    status, received = await refused(shared_proxy.port, request, f"3\r\nabc\r\n0\r\n{trailer}\r\n\r\n")
    assert status == 200
    assert not re.search(rb"(?i)\r\ncontent-length: 5", received)


@pytest.mark.parametrize(
    ("version", "passed"),
    [
        *(("HTTP/1.1", b"HTTP/1.1 200 "), ("HTTP/1.0", b"HTTP/1.1 200 ")),
        *(("HTTP/0.9", b""), ("HTTP/1.9", b""), ("HTTP/2.0", b"")),
    ],
)
async def test_an_answer_to_a_request_for_an_upgrade_has_our_version(
    shared_proxy: Any, version: str, passed: bytes
) -> None:
    async with recording(version=version) as (authority, _):
        lines = f"Host: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        answer = await exchange(shared_proxy.port, f"GET http://{authority}/x HTTP/1.1\r\n{lines}\r\n".encode())
    assert answer.startswith(passed)
    assert b" 200 " not in answer or passed


# HTTP/2.


async def streams(port: int, ca_file: Any, authority: str, requests: Iterable[tuple[list[Line], bytes]]) -> list[int]:
    """The statuses of requests on one connection in a tunnel; 0 for a stream or a connection that was reset."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer.transport):
        return await _streams(reader, writer, ca_file, authority, requests)


async def _streams(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    ca_file: Any,
    authority: str,
    requests: Iterable[tuple[list[Line], bytes]],
) -> list[int]:
    writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    context = ssl.create_default_context(cafile=ca_file)
    context.set_alpn_protocols(["h2"])
    await writer.start_tls(context, server_hostname="localhost")
    config = h2.config.H2Configuration(
        validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding="utf-8"
    )
    connection, statuses = h2.connection.H2Connection(config), []
    connection.initiate_connection()
    for fields, content in requests:
        stream = connection.get_next_available_stream_id()
        pseudo = [(":scheme", "https"), (":authority", authority), (":path", "/x")]
        given = dict(fields)
        pseudo = [line for line in pseudo if line[0] not in given]
        rest = sorted((line for line in fields[1:] if line[1] or line[0][0] != ":"), key=lambda line: line[0][0] != ":")
        connection.send_headers(stream, [*fields[:1], *pseudo, *rest], end_stream=not content)
        if content:
            connection.send_data(stream, content, end_stream=True)
        writer.write(connection.data_to_send())
        statuses.append(await _status(reader, writer, connection, stream))
    writer.transport.abort()
    return statuses


async def _status(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: h2.connection.H2Connection, stream: int
) -> int:
    status = 0
    with suppress(TimeoutError, OSError, h2.exceptions.ProtocolError):
        async with asyncio.timeout(PATIENCE_S):
            while chunk := await reader.read(65536):
                for event in connection.receive_data(chunk):
                    if isinstance(event, h2.events.ResponseReceived):
                        status = int(dict(event.headers)[":status"])
                    elif isinstance(
                        event, (h2.events.StreamEnded, h2.events.StreamReset, h2.events.ConnectionTerminated)
                    ):
                        return status
                writer.write(connection.data_to_send())
    return status


async def over_2(proxy: Any, authority: Any, fields: list[Line], content: bytes) -> tuple[list[int], bytes]:
    """The statuses of this request and of another's after it, and what reached the origin."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.leaf_file)
    ca_file = proxy.state / "mitmproxy-ca-cert.pem"
    async with recording(tls) as (named, received):
        first = await streams(proxy.port, ca_file, named, [(fields, content)])
        second = await streams(proxy.port, ca_file, named, [([(":method", "GET"), ("x-other", "1")], b"")])
        return [*first, *second], b"|".join(filter(None, received))  # one connection was made before the client spoke


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
async def test_content_without_a_length_is_framed(shared_proxy: Any, authority: Any, method: str) -> None:
    content = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    (first, second), received = await over_2(shared_proxy, authority, [(":method", method)], content)
    assert (first, second) == (200, 200)
    with_content = next(part for part in received.split(b"|") if b"smuggled" in part)
    assert re.search(rb"(?i)\r\n(content-length: %d|transfer-encoding: chunked)\r\n" % len(content), with_content)


@pytest.mark.parametrize("length", ["52", "1", "99999999999999999999"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "OPTIONS"])
async def test_a_length_without_content_is_malformed(
    shared_proxy: Any, authority: Any, method: str, length: str
) -> None:
    """RFC 9113 8.1.1."""
    (first, second), received = await over_2(
        shared_proxy, authority, [(":method", method), ("content-length", length)], b""
    )
    assert first in ((400,) if method in ("GET", "HEAD") else (0, 400))
    assert second == 200
    assert received.count(b" HTTP/1.1\r\n") == 1
    assert re.fullmatch(rb"GET /x HTTP/1.1\r\n.*x-other: 1\r\n.*\r\n\r\n", received, re.DOTALL), "the other's alone"


@pytest.mark.parametrize("length", ["0", "1", "3", "5", "400", "+4", "4, 4", "4\x0b", "0x4", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_length_that_is_not_that_of_the_content_completes_no_request(
    shared_proxy: Any, authority: Any, method: str, length: str
) -> None:
    fields = [(":method", method), ("content-length", length)]
    (first, second), received = await over_2(shared_proxy, authority, fields, b"abcd")
    assert first in (0, 400)
    assert second == 200
    broken_off = [part for part in received.split(b"|") if b"x-other" not in part]
    assert not any(part.endswith((b"abcd", b"0\r\n\r\n")) for part in broken_off), received


@pytest.mark.parametrize(
    "line",
    [
        ("transfer-encoding", "chunked"),
        ("connection", "content-length"),
        ("te", "chunked"),
        ("x", "y\r\nInjected: 1"),
        ("x", "y\nInjected: 1"),
        ("x", "y\rInjected: 1"),
        ("x\r\nInjected", "1"),
        ("x: y\r\nInjected", "1"),
        ("x\0", "1"),
        ("x", "\0"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_http_2_has_not_does_not_get_into_http_1(
    shared_proxy: Any, authority: Any, method: str, line: Line
) -> None:
    content = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n" if method == "POST" else b""
    (first, second), received = await over_2(shared_proxy, authority, [(":method", method), line], content)
    assert first in (0, 400)
    assert second == 200
    assert b"njected" not in received
    assert received.count(b" HTTP/1.1\r\n") == 1, "the other's alone"


@pytest.mark.parametrize("line", [(":scheme", ""), (":scheme", "http"), (":scheme", "ftp"), (":authority", "")])
async def test_a_request_without_a_target_is_refused(shared_proxy: Any, authority: Any, line: Line) -> None:
    """RFC 9113 8.3.1. An empty authority is left out."""
    (first, second), received = await over_2(shared_proxy, authority, [(":method", "GET"), line], b"")
    assert first in (0, 400)
    assert second == 200
    assert received.count(b" HTTP/1.1\r\n") == 1, "the other's alone"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_target_reaches_the_origin_in_ascii(shared_proxy: Any, authority: Any, method: str) -> None:
    """Python's http.server takes the byte 0x85 for white space, at which a target ends."""
    (first, _), received = await over_2(shared_proxy, authority, [(":method", method), (":path", "/a\u0445")], b"")
    assert first == 200
    assert b" /a%D1%85 HTTP/1.1" in received


@pytest.mark.parametrize("hosts", [("a", "b"), ("a", "a"), ("a, b",), ("a b",), ("a/b",), ("",)])
@pytest.mark.parametrize("upgrade", ["", "Connection: upgrade\r\nUpgrade: x\r\n"])
async def test_a_reverse_proxy_refuses_hosts_that_name_no_server(
    start_proxy: Any, hosts: Sequence[str], upgrade: str
) -> None:
    async with recording() as (authority, received):
        proxy = await asyncio.to_thread(start_proxy, "--quiet", "--mode", f"reverse:http://{authority}")
        lines = "".join(f"Host: {host}\r\n" for host in hosts)
        answer = await exchange(proxy.port, f"GET /x HTTP/1.1\r\n{lines}{upgrade}\r\n".encode())
    assert (answer.split(b" ")[1], b"".join(received)) == (b"400", b"")


async def test_a_proxy_that_stops_passes_nothing_on_unread(start_proxy: Any) -> None:
    """While it stops it still has clients: their requests are answered as before, or refused."""
    async with recording() as (authority, received):
        proxy = await asyncio.to_thread(start_proxy, "--quiet")
        sent = f"GET http://{authority}/x HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()
        started = asyncio.Event()

        async def ask() -> None:
            with suppress(OSError):
                while answer := await exchange(proxy.port, sent):
                    started.set()
                    assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 502 ", b"HTTP/1.1 503 "))

        clients = [asyncio.create_task(ask()) for _ in range(32)]
        await asyncio.wait_for(started.wait(), PATIENCE_S)
        await asyncio.to_thread(proxy.stop)
        await asyncio.wait_for(asyncio.gather(*clients), PATIENCE_S)
    requests = b"".join(received).count(b" HTTP/1.1\r\n")
    assert requests > 0
    assert b"".join(received).count(b"\r\nVia: ") == requests
