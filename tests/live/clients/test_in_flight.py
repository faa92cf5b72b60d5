"""How much memory clients and origins that take nothing make the proxy use, all together.

test_bounds.py holds the same of one client at a time.
"""

import re
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]

MIB = 1 << 20
CLIENTS = 60
OBJECT_BYTES = 7 * MIB
RESIDENT_BYTES = 300 * MIB
"""With all clients, that take nothing; without a bound on the sum it would be more than 500 MiB."""
KEPT_SHARE = 0.2
"""By which share of what is resident at the start more may be resident afterwards."""
PATIENCE_S = 60.0


def resident_bytes(proxy: Any, what: str = "VmRSS") -> int:
    status = Path(f"/proc/{proxy.process.pid}/status").read_text()
    found = re.search(rf"{what}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def gauge(proxy: Any, name: str) -> float:
    url = re.search(r"http://127\.0\.0\.1:\d+/metrics", proxy.greeting)
    assert url is not None, proxy.greeting
    with urllib.request.urlopen(url[0], timeout=PATIENCE_S) as answer:
        found = re.search(rf"^bestbefore_{name} (\S+)$", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def eventually(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.2)


class Origin:
    """Objects of 7 MiB that are all different; what is uploaded it does not take."""

    def __init__(self, leaf_file: Path | None = None) -> None:
        self.sent = 0
        self.goes_on = threading.Event()
        """Awaited in the middle of content without a length, which `/slow` has."""
        self._server = socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)
        self._context = None
        self._closed = False
        self._held: list[socket.socket] = []
        """On which something is uploaded that is not taken."""
        if leaf_file is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(leaf_file)
        port = self._server.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}" if leaf_file is None else f"https://localhost:{port}"
        self.authority = self.url.partition("//")[2]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._closed = True
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        while self._held:
            self._held.pop().close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._server.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), ExitStack() as opened:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            opened.enter_context(connection)
            while request := connection.recv(65536):
                method, path, *_ = request.split(b" ", 2)
                if method == b"POST":
                    self._held.append(connection)
                    if not self._closed:  # else `close` may not have seen it
                        opened.pop_all()
                    return
                if path == b"/slow":
                    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n")
                    connection.sendall(b"Cache-Control: max-age=600\r\n\r\n")
                    half = b"%x\r\n%s\r\n" % (OBJECT_BYTES // 2, bytes(OBJECT_BYTES // 2))
                    connection.sendall(half)
                    self.goes_on.wait(PATIENCE_S)
                    connection.sendall(half + b"0\r\n\r\n")
                    self.sent += 1
                    continue
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {OBJECT_BYTES}\r\nCache-Control: max-age=600\r\n\r\n"
                connection.sendall(head.encode() + path.ljust(64) + bytes(OBJECT_BYTES - 64))
                self.sent += 1


@pytest.fixture
def origin() -> Iterator[Origin]:
    made = Origin()
    yield made
    made.close()


@pytest.fixture
def secure_origin(authority: Any) -> Iterator[Origin]:
    made = Origin(authority.leaf_file)
    yield made
    made.close()


@contextmanager
def little_is_resident(proxy: Any, taken: ExitStack) -> Iterator[None]:
    """Less than `RESIDENT_BYTES` meanwhile, and little more than before once the clients have left."""
    before = resident_bytes(proxy)
    yield
    assert resident_bytes(proxy, "VmHWM") < RESIDENT_BYTES
    taken.close()
    eventually(lambda: resident_bytes(proxy) <= before * (1 + KEPT_SHARE))
    eventually(lambda: gauge(proxy, "in_flight_bytes") == gauge(proxy, "in_flight_file_bytes") == 0)
    eventually(lambda: gauge(proxy, "requests_in_progress") == 0)


def small(proxy: Any, taken: ExitStack) -> socket.socket:
    """A connection that takes little of what is sent to it."""
    client = taken.enter_context(socket.socket())
    client.settimeout(PATIENCE_S)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", proxy.port))
    return client


def ask(proxy: Any, taken: ExitStack, url: str) -> socket.socket:
    client = small(proxy, taken)
    client.sendall(f"GET {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n\r\n".encode())
    return client


def secure(proxy: Any, taken: ExitStack, origin: Origin) -> ssl.SSLSocket:
    """A TLS connection through the proxy, in HTTP/2."""
    plain = small(proxy, taken)
    plain.sendall(f"CONNECT {origin.authority} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n".encode())
    assert b" 200 " in plain.recv(4096)
    context = ssl.create_default_context(cafile=proxy.state / "mitmproxy-ca-cert.pem")
    context.set_alpn_protocols(["h2"])
    return taken.enter_context(context.wrap_socket(plain, server_hostname="localhost"))


def test_clients_that_read_nothing_of_what_is_fetched(start_proxy: Any, origin: Origin) -> None:
    proxy, taken = start_proxy(), ExitStack()
    with little_is_resident(proxy, taken):
        for number in range(CLIENTS):
            ask(proxy, taken, f"{origin.url}/{number}")
        eventually(lambda: origin.sent == CLIENTS)
        eventually(lambda: gauge(proxy, "pending_copies") == 0)


def test_clients_that_read_nothing_of_what_they_share(start_proxy: Any, origin: Origin) -> None:
    proxy, taken = start_proxy(), ExitStack()
    with little_is_resident(proxy, taken):
        clients = [ask(proxy, taken, f"{origin.url}/slow") for _ in range(CLIENTS)]
        assert sum(b"; collapsed" in client.recv(1000) for client in clients) == CLIENTS - 1
        origin.goes_on.set()
        eventually(lambda: gauge(proxy, "in_flight_file_bytes") == OBJECT_BYTES)
        assert origin.sent == 1
        eventually(lambda: gauge(proxy, "pending_copies") == 0)


def test_clients_that_read_nothing_of_what_is_stored(start_proxy: Any, origin: Origin) -> None:
    proxy, taken = start_proxy(), ExitStack()
    for number in range(CLIENTS):
        with ExitStack() as closed, ask(proxy, closed, f"{origin.url}/{number}") as client:
            client.recv(1)  # and leave
        eventually(lambda: gauge(proxy, "pending_copies") < 5)
    eventually(lambda: gauge(proxy, "pending_copies") == 0)
    with little_is_resident(proxy, taken):
        for number in range(CLIENTS):
            assert b"; hit" in ask(proxy, taken, f"{origin.url}/{number}").recv(1000)
        time.sleep(1.0)


def test_clients_over_http_2_that_open_no_window(start_proxy: Any, secure_origin: Origin, authority: Any) -> None:
    proxy, taken = start_proxy(env={"SSL_CERT_FILE": str(authority.ca_file)}), ExitStack()
    connections, streams = CLIENTS // 10, 10

    def ask_for(taken: ExitStack, paths: list[str]) -> None:
        client = secure(proxy, taken, secure_origin)
        connection = h2.connection.H2Connection(h2.config.H2Configuration())
        connection.initiate_connection()
        for path in paths:
            stream_id = connection.get_next_available_stream_id()
            pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", secure_origin.authority)]
            connection.send_headers(stream_id, [*pseudo, (":path", path)], end_stream=True)
        client.sendall(connection.data_to_send())

    with ExitStack() as first:  # what the first TLS connection needs once
        ask_for(first, ["/first"])
        eventually(lambda: secure_origin.sent == 1)
    secure_origin.sent = 0
    with little_is_resident(proxy, taken):
        for number in range(connections):
            ask_for(taken, [f"/{number}/{stream}" for stream in range(streams)])
        eventually(lambda: secure_origin.sent == CLIENTS)
        eventually(lambda: gauge(proxy, "pending_copies") == 0)


def test_uploads_to_an_origin_that_takes_nothing(start_proxy: Any, origin: Origin) -> None:
    proxy, taken = start_proxy(), ExitStack()
    with little_is_resident(proxy, taken):
        for _ in range(CLIENTS):
            client = small(proxy, taken)
            head = f"POST {origin.url}/ HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: {OBJECT_BYTES}\r\n\r\n"
            client.sendall(head.encode())
            client.setblocking(False)
            for _ in range(20):
                with suppress(BlockingIOError):
                    client.send(bytes(256 * 1024))
                time.sleep(0.005)
        time.sleep(1.0)
        taken.callback(origin.close)  # what the clients have sent waits for it although they leave
