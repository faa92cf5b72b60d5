"""How long the proxy waits for peers that stop: real sockets, limits of a second and of five.

Far enough apart, and from the times of the peers, for a machine that stands still in between.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import pytest
from whole_answer import read_answer

CONFIG = """[proxy]
head_timeout = "1s"
read_timeout = "5s"
idle_timeout = "30s"
"""
HEAD_WITHIN_S, READ_WITHIN_S = 6.0, 11.0
"""For what ends by either limit."""
PEER_S = 30.0
"""Until a peer would end it by itself."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def port(start_module_proxy: Any, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Of a proxy with short limits."""
    config = tmp_path_factory.mktemp("config") / "proxy.toml"
    config.write_text(CONFIG)
    found: int = start_module_proxy("--config", str(config)).port
    return found


type StartSlowOrigin = Callable[..., str]


@pytest.fixture(scope="module")
def start_slow_origin() -> Iterator[StartSlowOrigin]:
    """Starts origins that send these pieces with a pause after each; on one request, and then no more."""
    servers: list[socket.socket] = []

    def start(*pieces: bytes, pause_s: float) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(65536)
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause_s)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield start
    for server in servers:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def ask(port: int, request: bytes, *more: bytes, pause_s: float = 0.0) -> tuple[bytes, float]:
    """All that comes for a request sent in pieces, until the proxy closes, and how long that took, seconds."""
    began, received = time.monotonic(), b""
    with closing(socket.create_connection(("127.0.0.1", port), PEER_S)) as connection, suppress(ConnectionError):
        connection.sendall(request)
        for piece in more:
            time.sleep(pause_s)
            connection.sendall(piece)
        while chunk := connection.recv(65536):
            received += chunk
    return received, time.monotonic() - began


def get(host: str, *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join((f"{method} http://{host}/ HTTP/1.1", f"Host: {host}", *lines, "", "")).encode()


UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")
CLOSE = "Connection: close"


def of_an_early_connection(port: int, start: StartSlowOrigin) -> list[bytes]:
    """Answers to requests that come late on a connection, as browsers open them before they need them."""
    host, answers = start(OK, pause_s=0), []
    with closing(socket.create_connection(("127.0.0.1", port), PEER_S)) as connection:
        for _ in range(2):
            time.sleep(1.5)
            connection.sendall(get(host))
            answers.append(read_answer(connection))
    return answers


def of_a_dripping_origin(port: int, start: StartSlowOrigin, *lines: str) -> tuple[bytes, float]:
    return ask(port, get(start(b"HTTP/1.1 200 OK\r\nX: ", *[b"y"] * 100, pause_s=0.3), *lines))


EVENTS = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", b"data: 1\n\n", b"data: 2\n\n")
HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + bytes(30_000)
EXCHANGES: dict[str, Callable[[int, StartSlowOrigin], Any]] = {
    "origin drips": lambda port, start: of_a_dripping_origin(port, start, CLOSE),
    "origin drips, upgrade": lambda port, start: of_a_dripping_origin(port, start, *UPGRADE),
    "origin silent": lambda port, start: ask(port, get(start(b"", pause_s=PEER_S), CLOSE)),
    "origin late": lambda port, start: ask(port, get(start(b"", OK, pause_s=1.8), CLOSE)),
    "content stops": lambda port, start: ask(port, get(start(HALF, pause_s=PEER_S))),
    "events": lambda port, start: ask(port, get(start(*EVENTS, pause_s=5.6), CLOSE)),
    "client drips": lambda port, _: ask(
        port, b"GET http://127.0.0.1:1/ HTTP/1.1\r\nX: ", *[b"y"] * 9, pause_s=0.3
    ),
    "client early": of_an_early_connection,
    "client stops": lambda port, start: ask(
        port, get(start(b"", pause_s=PEER_S), "Content-Length: 100", method="POST") + b"begun"
    ),
}


@pytest.fixture(scope="module")
def came(port: int, start_slow_origin: StartSlowOrigin) -> Iterator[Callable[[str], Any]]:
    """What came of an exchange. They wait at the same time, all of them."""
    with ThreadPoolExecutor(len(EXCHANGES)) as threads:
        begun = {name: threads.submit(run, port, start_slow_origin) for name, run in EXCHANGES.items()}
        yield lambda name: begun[name].result()


type Came = Callable[[str], Any]


@pytest.mark.parametrize(
    ("asked", "within_s"), [("origin drips", HEAD_WITHIN_S), ("origin drips, upgrade", READ_WITHIN_S)]
)
def test_an_origin_that_drips_its_head_is_given_up(came: Came, asked: str, within_s: float) -> None:
    """A request for an upgrade has the time to read and that for a head together."""
    answer, took_s = came(asked)
    assert answer.startswith((b"HTTP/1.1 504", b"HTTP/1.1 502"))
    assert took_s < within_s


def test_an_origin_that_says_nothing_is_given_up(came: Came) -> None:
    answer, took_s = came("origin silent")
    assert answer.startswith(b"HTTP/1.1 504")
    assert 4.5 < took_s < READ_WITHIN_S


def test_an_answer_that_begins_late_is_awaited(came: Came) -> None:
    """Longer than a head may take, as a long poll does."""
    answer, took_s = came("origin late")
    assert answer.endswith(b"ok")
    assert took_s > 1.7


def test_content_that_stops_is_given_up(came: Came) -> None:
    answer, took_s = came("content stops")
    assert len(answer) < 50_000
    assert took_s < READ_WITHIN_S


def test_an_event_stream_may_be_silent_for_longer(came: Came) -> None:
    answer, _ = came("events")
    assert b"data: 2" in answer


def test_a_client_that_drips_its_head_is_left(came: Came) -> None:
    _, took_s = came("client drips")
    assert took_s < HEAD_WITHIN_S


def test_a_client_that_says_nothing_yet_is_not(came: Came) -> None:
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in came("client early"))


def test_a_client_that_stops_sending_its_content_is_left(came: Came) -> None:
    answer, took_s = came("client stops")
    assert not answer.startswith(b"HTTP/1.1 200")
    assert took_s < READ_WITHIN_S


def test_trailer_fields_of_a_request_hold_up_nothing(port: int, serve_each: Any) -> None:
    """They are dropped."""
    received = bytearray()

    def talk(connection: socket.socket) -> None:
        # All of it: what is left unread when an origin closes may cost its answer.
        while not received.endswith(b"\r\n0\r\n\r\n") and (data := connection.recv(65536)):
            received.extend(data)
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    server = socket.create_server(("127.0.0.1", 0))
    serve_each(server, talk, None)
    chunked = get("HOST", "Transfer-Encoding: chunked", "Trailer: X", method="PUT")
    host = f"127.0.0.1:{server.getsockname()[1]}".encode()
    with closing(socket.create_connection(("127.0.0.1", port), PEER_S)) as connection:
        connection.sendall(chunked.replace(b"HOST", host) + b"3\r\nabc\r\n0\r\nX: 1\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 201")
    assert received.endswith(b"3\r\nabc\r\n0\r\n\r\n")


def test_a_client_that_leaves_after_its_content_ends_the_contact(shared_proxy: Any) -> None:
    """The answer would be for it alone. The limit for an answer is a minute there."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        with closing(socket.create_connection(("127.0.0.1", shared_proxy.port), 30)) as client:
            client.sendall(f"POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\nok".encode())
            server.settimeout(30)
            contact, _ = server.accept()
            contact.settimeout(30)
            received = b""
            while not received.endswith(b"\r\n\r\nok"):
                received += contact.recv(65536)
        with closing(contact), suppress(ConnectionResetError):
            assert contact.recv(1) == b""
