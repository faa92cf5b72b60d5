"""Requests that ask their connection to change, on real sockets."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

type Serve = Callable[[bytes], tuple[str, list[bytes]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts origins that answer with these bytes, and `ok` to what comes then; gives authority and the requests."""
    servers: list[socket.socket] = []

    def start(answer: bytes) -> tuple[str, list[bytes]]:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)
        heads: list[bytes] = []

        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        heads.append(connection.recv(65536))
                        connection.sendall(answer)
                        while connection.recv(65536):
                            connection.sendall(b"\x81\x02ok")  # a WebSocket message

        threading.Thread(target=run, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}", heads

    yield start
    for server in servers:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n"


def asking(authority: str, *lines: str) -> bytes:
    host = next((line for line in lines if line.startswith("Host:")), f"Host: {authority}")
    rest = (line for line in lines if not line.startswith("Host:"))
    return "\r\n".join((f"GET http://{authority}/chat HTTP/1.1", host, *rest, "", "")).encode()


WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x")


def test_a_websocket_passes_both_ways(shared_proxy: Any, serve: Serve) -> None:
    authority, heads = serve(SWITCHING % b"websocket")
    with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 20)) as client:
        client.sendall(asking(authority, "Host: elsewhere.example", *WEBSOCKET, "Content-Length: 0", "X: 1"))
        assert client.recv(65536).startswith(b"HTTP/1.1 101 ")
        for message in (b"one", b"two"):
            client.sendall(b"\x81\x83\x00\x00\x00\x00" + message)
            assert client.recv(65536) == b"\x81\x02ok"
    head = heads[0].decode()
    assert f"\r\nHost: {authority}\r\n" in head, "the origin is told the host that it was connected for"
    assert "elsewhere" not in head
    assert "Content-Length" not in head


@pytest.mark.parametrize(
    ("lines", "protocol"),
    [
        (WEBSOCKET, b"h2c"),
        (("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"), b"h2c"),
    ],
)
def test_a_protocol_that_was_not_asked_for_is_not_switched_to(
    shared_proxy: Any, serve: Serve, lines: tuple[str, ...], protocol: bytes
) -> None:
    """Over h2c a client could send what no rule of the proxy sees."""
    authority, _ = serve(SWITCHING % protocol + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 20)) as client:
        client.sendall(asking(authority, *lines))
        answer = b""
        with suppress(ConnectionError):
            while chunk := client.recv(65536):
                answer += chunk
                if b"\r\n\r\n" in answer:
                    break
    assert b" 101 " not in answer
    assert b"evil" not in answer


@pytest.mark.parametrize("answer", [SWITCHING % b"x", b"HTTP/1.1 000 x\r\n\r\n", b"HTTP/1.1 099 x\r\n\r\n"])
def test_an_answer_that_is_none_is_refused(shared_proxy: Any, serve: Serve, answer: bytes) -> None:
    authority, _ = serve(answer + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 20)) as client:
        client.sendall(asking(authority, "Connection: close"))
        received = b""
        while chunk := client.recv(65536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 502 ")
    assert b"evil" not in received


def test_an_upgrade_with_content_is_a_request_like_others(shared_proxy: Any, serve: Serve) -> None:
    authority, heads = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 20)) as client:
        client.sendall(asking(authority, *WEBSOCKET, "Content-Length: 4") + b"abcd")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert b"Upgrade" not in heads[0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, b"refuses connections to port"),
        (b"", b"closed the connection early"),
        (b"x\r\n\r\n", b"answer could not be read"),
        (SWITCHING[:-2] % b"websocket" + b"X: " + b"x" * 70_000 + b"\r\n\r\n", b"answer could not be read"),
    ],
)
def test_a_browser_is_shown_why_an_upgrade_failed(
    shared_proxy: Any, start_raw_origin: Callable[..., str], answer: bytes | None, reason: bytes
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as nowhere:
        closed = f"127.0.0.1:{nowhere.getsockname()[1]}"
    authority = closed if answer is None else start_raw_origin(answer).removeprefix("http://")
    with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 20)) as client:
        client.sendall(asking(authority, *WEBSOCKET, "Accept: text/html"))
        received = b""
        while chunk := client.recv(65536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html; charset=utf-8\r\n")
    assert b"<h1>The proxy could not answer this request</h1>" in received
    assert reason in received
