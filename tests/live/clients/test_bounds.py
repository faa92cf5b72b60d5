"""What a peer can make the proxy hold in memory, and how soon it passes on what comes slowly."""

import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import h2.config
import h2.connection
import h2.events
import pytest

from bestbefore.addon.proxy.tunnels.first_speaker import KNOWN_SILENCE_S

pytestmark = pytest.mark.live

MIB = 1 << 20
LARGE_BYTES = 80 * MIB
PATIENCE_S = 200.0
"""For what is large to pass: a slow machine may take a minute."""
MAX_BUFFERED_BYTES = 48 * MIB
"""By how much the proxy may grow while something large passes."""

type Serve = Callable[..., str]


@contextmanager
def little_is_held(proxy: Any) -> Iterator[None]:
    """The proxy's memory grows by no more than `MAX_BUFFERED_BYTES` meanwhile, not even for a moment."""
    process = Path(f"/proc/{proxy.process.pid}")
    (process / "clear_refs").write_text("5")  # from now on the peak is that of what follows
    before = _peak_bytes(process)
    yield
    assert _peak_bytes(process) - before < MAX_BUFFERED_BYTES


def _peak_bytes(process: Path) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
    assert found is not None
    return int(found[1]) * 1024


# Origins, on sockets.


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves each connection by a function of its socket, and gives the origin's URL.

    In TLS if a certificate is given, and with `begin` not before that is set.
    """
    servers: list[socket.socket] = []

    def start(
        answer: Callable[[socket.socket], None], leaf_file: Path | None = None, begin: threading.Event | None = None
    ) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)
        context = None
        if leaf_file is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(leaf_file)

        def one(plain: socket.socket) -> None:
            with suppress(OSError), plain:
                if begin is not None:
                    begin.wait()
                if context is None:
                    answer(plain)
                else:
                    with context.wrap_socket(plain, server_side=True) as secure:
                        answer(secure)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        name = "http://127.0.0.1" if leaf_file is None else "https://localhost"
        return f"{name}:{server.getsockname()[1]}"

    yield start
    for server in servers:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


class Large:
    """An origin of one large answer, that knows how much of it was sent; it may be stored if `stored`."""

    def __init__(self, *, stored: bool = False) -> None:
        self.line = 'ETag: "1"' if stored else "Cache-Control: no-store"
        self.sent_bytes = 0

    def __call__(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {LARGE_BYTES}\r\n{self.line}\r\n\r\n".encode())
        piece = bytes(MIB)
        while self.sent_bytes < LARGE_BYTES:
            connection.sendall(piece)
            self.sent_bytes += MIB


class Page:
    """An origin of one page that is fresh."""

    body = bytes(7 * MIB)

    def __call__(self, connection: socket.socket) -> None:
        connection.recv(65536)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.body)}\r\nCache-Control: max-age=600\r\n\r\n"
        connection.sendall(head.encode() + self.body)


class Taking:
    """An origin that takes an upload only when it is told to."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.taken_bytes = 0
        self.has_all = threading.Event()

    def __call__(self, connection: socket.socket) -> None:
        _, _, rest = connection.recv(65536).partition(b"\r\n\r\n")
        self.taken_bytes = len(rest)
        self.go.wait()
        while self.taken_bytes < LARGE_BYTES and (piece := connection.recv(MIB)):
            self.taken_bytes += len(piece)
        if self.taken_bytes >= LARGE_BYTES:  # over HTTP/2 it came without a length, and has chunks now
            self.has_all.set()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


class Endless:
    """An origin whose response never gets to its content."""

    def __init__(self, line: bytes) -> None:
        self.line = line

    def __call__(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n")
        while True:
            connection.sendall(self.line)


class InTwoParts:
    """An origin that sends the second part of an answer only when it is told to."""

    def __init__(self, *lines: str) -> None:
        self.go = threading.Event()
        self.head = "\r\n".join(("HTTP/1.1 200 OK", "Connection: close", *lines, "", "")).encode()

    def __call__(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(self.head + b"data: first\n\n")
        self.go.wait()
        connection.sendall(b"data: second\n\n")


@pytest.fixture
def silent() -> Iterator[str]:
    """The authority of a server that neither accepts connections nor refuses them."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


# Clients.


@contextmanager
def connected(proxy: Any) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", proxy.port), PATIENCE_S)) as client:
        yield client


@contextmanager
def tunnel(proxy: Any, url: str, *protocols: str) -> Iterator[ssl.SSLSocket]:
    """A TLS connection through the proxy to an https URL's host."""
    authority = url.removeprefix("https://")
    with connected(proxy) as plain:
        plain.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(4096)
        context = ssl.create_default_context(cafile=proxy.state / "mitmproxy-ca-cert.pem")
        context.set_alpn_protocols(protocols or ["http/1.1"])
        with context.wrap_socket(plain, server_hostname=authority.partition(":")[0]) as secure:
            yield secure


class Http2:
    """A connection to an https URL's host in HTTP/2, whose window opens only as content is read."""

    def __init__(self, client: ssl.SSLSocket, url: str) -> None:
        self.client = client
        self.authority = url.removeprefix("https://")
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration())
        self.connection.initiate_connection()

    def ask(self, method: str = "GET", *lines: tuple[str, str], end: bool = True) -> int:
        """Send a request; the number of its stream."""
        stream_id: int = self.connection.get_next_available_stream_id()
        pseudo = [(":method", method), (":scheme", "https"), (":authority", self.authority), (":path", "/large")]
        self.connection.send_headers(stream_id, [*pseudo, *lines], end_stream=end)
        self.flush()
        return stream_id

    def flush(self) -> None:
        self.client.sendall(self.connection.data_to_send())

    def receive(self) -> list[h2.events.Event]:
        data = self.client.recv(MIB)
        assert data, "the proxy has closed the connection"
        received: list[h2.events.Event] = self.connection.receive_data(data)
        return received

    def read(self, stream_id: int, size: int) -> None:
        """Read so much of the content of a stream."""
        while size > 0:
            for event in self.receive():
                if isinstance(event, h2.events.DataReceived):
                    size -= len(event.data) if event.stream_id == stream_id else 0
                    self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.flush()

    def upload(self, stream_id: int) -> int:
        """Send a piece, as soon as the window allows; its size."""
        frame = bytes(16_384)
        while self.connection.local_flow_control_window(stream_id) < MIB:
            self.receive()
        for _ in range(MIB // len(frame)):
            self.connection.send_data(stream_id, frame)
        self.flush()
        return MIB


@contextmanager
def http2(proxy: Any, url: str) -> Iterator[Http2]:
    with tunnel(proxy, url, "h2") as client:
        yield Http2(client, url)


def read_answer(client: socket.socket, request: bytes, size: int) -> bytes:
    """The head of an answer, after its content has been read."""
    client.sendall(request)
    head, _, body = client.recv(65536).partition(b"\r\n\r\n")
    received = len(body)
    while received < size and (chunk := client.recv(MIB)):
        received += len(chunk)
    assert received >= size
    return head


class Sender(Protocol):
    sent_bytes: int


class Upload:
    """Sends something large in the background, and knows how much of it it was able to send."""

    def __init__(self, send: Callable[[], int]) -> None:
        """`send` sends a piece and returns its size."""
        self.sent_bytes = 0
        self._send = send
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while self.sent_bytes < LARGE_BYTES:
                self.sent_bytes += self._send()

    @classmethod
    def on(cls, connection: socket.socket) -> "Upload":
        piece = bytes(MIB)

        def send() -> int:
            connection.sendall(piece)
            return len(piece)

        return cls(send)


def stalled(sender: Sender) -> int:
    """How much a sender has sent, once it cannot send more."""
    before = -1
    while before < sender.sent_bytes:
        before = sender.sent_bytes
        time.sleep(0.3)
    return before


def all_sent(large: Large) -> bool:
    """Whether the origin can send all, though nobody reads it; a handshake and a file may take their time."""
    deadline_s = time.monotonic() + 60.0
    while large.sent_bytes < LARGE_BYTES and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return large.sent_bytes == LARGE_BYTES


# Downloads.


def test_a_large_download_waits_for_a_slow_client(shared_proxy: Any, serve: Serve) -> None:
    large = Large()
    url = serve(large)
    with little_is_held(shared_proxy), connected(shared_proxy) as client:
        client.sendall(f"GET {url}/large HTTP/1.1\r\nHost: {url[7:]}\r\nConnection: close\r\n\r\n".encode())
        assert stalled(large) < MAX_BUFFERED_BYTES
        received = 0
        while chunk := client.recv(MIB):
            received += len(chunk)
    assert received > LARGE_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_large_download_over_http_2_waits_for_the_window(
    shared_proxy: Any, serve: Serve, authority: Any, method: str
) -> None:
    large = Large()
    with little_is_held(shared_proxy), http2(shared_proxy, serve(large, authority.leaf_file)) as client:
        stream_id = client.ask(method)
        assert stalled(large) < MAX_BUFFERED_BYTES
        client.read(stream_id, 64 * MIB)


def test_a_large_download_that_is_stored_goes_to_a_file(shared_proxy: Any, serve: Serve, authority: Any) -> None:
    large = Large(stored=True)
    with little_is_held(shared_proxy), http2(shared_proxy, serve(large, authority.leaf_file)) as client:
        stream_id = client.ask("GET")
        assert all_sent(large), "the origin waits for a client that does not read"
        client.read(stream_id, 64 * MIB)


def test_a_hit_is_not_copied_for_each_slow_client(shared_proxy: Any, serve: Serve, authority: Any) -> None:
    plain, secure = serve(Page()), serve(Page(), authority.leaf_file)
    request = f"GET {plain}/large HTTP/1.1\r\nHost: {plain[7:]}\r\n\r\n".encode()
    with ExitStack() as slow, connected(shared_proxy) as other, http2(shared_proxy, secure) as client:
        read_answer(other, request, len(Page.body))
        client.read(client.ask(), len(Page.body))
        with little_is_held(shared_proxy):
            for _ in range(20):
                client.ask()
                another = slow.enter_context(connected(shared_proxy))
                another.sendall(request)
                assert b"; hit" in another.recv(65536)
            client.receive()
            assert b"; hit" in read_answer(other, request, len(Page.body))


@pytest.mark.parametrize("lines", [
    ("Content-Type: text/event-stream",),
    ("Content-Type: text/event-stream", "Cache-Control: max-age=60", 'ETag: "1"'),
    ("Cache-Control: max-age=60", "Content-Length: 27"),
    ("Cache-Control: max-age=60",),
])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_comes_slowly_is_passed_on_at_once(
    shared_proxy: Any, serve: Serve, method: str, lines: tuple[str, ...]
) -> None:
    if lines[-1] == "Content-Length: 27" and method == "GET":
        pytest.skip("short content is read whole before it is sent")
    origin = InTwoParts(*lines)
    url = serve(origin)
    with connected(shared_proxy) as client:
        asked_s = time.monotonic()
        client.sendall(f"{method} {url}/ HTTP/1.1\r\nHost: {url[7:]}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while b"first\n\n" not in answer and (chunk := client.recv(65536)):
            answer += chunk
        assert b"first\n\n" in answer
        assert time.monotonic() - asked_s < 10.0
        origin.go.set()
        while chunk := client.recv(65536):
            answer += chunk
    assert b"second" in answer


# Uploads.


def test_an_upload_waits_for_a_slow_origin(shared_proxy: Any, serve: Serve) -> None:
    origin = Taking()
    url = serve(origin)
    with little_is_held(shared_proxy), connected(shared_proxy) as client:
        client.sendall(f"POST {url}/ HTTP/1.1\r\nHost: {url[7:]}\r\nContent-Length: {LARGE_BYTES}\r\n\r\n".encode())
        assert stalled(Upload.on(client)) < MAX_BUFFERED_BYTES
        origin.go.set()
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert origin.has_all.is_set()


def test_an_upload_over_http_2_waits_for_a_slow_origin(shared_proxy: Any, serve: Serve, authority: Any) -> None:
    origin = Taking()
    with little_is_held(shared_proxy), http2(shared_proxy, serve(origin, authority.leaf_file)) as client:
        stream_id = client.ask("POST", end=False)
        client.receive()
        assert stalled(Upload(lambda: client.upload(stream_id))) < MAX_BUFFERED_BYTES
        origin.go.set()
        assert origin.has_all.wait(PATIENCE_S)


def test_an_upload_waits_until_the_origin_can_be_written_to(shared_proxy: Any, serve: Serve, authority: Any) -> None:
    origin, begin = Taking(), threading.Event()
    url = serve(origin, authority.leaf_file, begin)
    with little_is_held(shared_proxy), tunnel(shared_proxy, url) as client:
        client.sendall(f"POST / HTTP/1.1\r\nHost: {url[8:]}\r\nContent-Length: {LARGE_BYTES}\r\n\r\n".encode())
        assert stalled(Upload.on(client)) < MAX_BUFFERED_BYTES
        origin.go.set()
        begin.set()
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert origin.has_all.is_set()


@pytest.mark.parametrize("head", [
    "POST http://{0}/ HTTP/1.1\r\nHost: {0}\r\nContent-Length: 1000000000\r\n\r\n",
    "CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n",
])
def test_an_upload_to_a_silent_origin_is_not_kept(shared_proxy: Any, silent: str, head: str) -> None:
    with little_is_held(shared_proxy), connected(shared_proxy) as client:
        client.sendall(head.format(silent).encode())
        assert stalled(Upload.on(client)) < MAX_BUFFERED_BYTES


def test_what_is_no_http_within_tls_is_not_kept_for_a_silent_origin(shared_proxy: Any) -> None:
    """The origin accepts the connection, but begins no TLS."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        little_is_held(shared_proxy),
        tunnel(shared_proxy, f"https://127.0.0.1:{server.getsockname()[1]}", "other") as client,
    ):
        time.sleep(2 * KNOWN_SILENCE_S)
        assert stalled(Upload.on(client)) < MAX_BUFFERED_BYTES


# Heads.


@pytest.mark.parametrize("beginning", [
    "GET /",
    "GET / HTTP/1.1\r\nX: ",
    "POST http://{0}/ HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\n\r\n5;",
    "POST http://{0}/ HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    "GET http://{0}/ HTTP/1.1\r\nHost: {0}\r\n\r\n",
])
def test_a_request_without_end_is_cut_off(shared_proxy: Any, silent: str, beginning: str) -> None:
    with little_is_held(shared_proxy), connected(shared_proxy) as client:
        client.sendall(beginning.format(silent).encode())
        with pytest.raises(ConnectionError):
            client.sendall(b"x" * LARGE_BYTES)
    assert shared_proxy.get("http://bestbefore.test/clock").status == 200


def test_a_head_that_is_too_large_is_refused(shared_proxy: Any) -> None:
    with connected(shared_proxy) as client:
        client.sendall(b"GET http://bestbefore.test/ HTTP/1.1\r\nX: " + b"x" * 66_000)
        assert client.recv(65536).startswith(b"HTTP/1.1 431 ")
        assert client.recv(65536) == b""


@pytest.mark.parametrize("place", ["first", "pipelined", "within TLS"])
def test_a_whole_head_that_is_too_large_is_refused(
    shared_proxy: Any, serve: Serve, authority: Any, place: str
) -> None:
    with ExitStack() as stack:
        if place == "within TLS":
            client = stack.enter_context(tunnel(shared_proxy, serve(Page(), authority.leaf_file), "http/1.1"))
            target, host = "/", "localhost"
        else:
            client = stack.enter_context(connected(shared_proxy))
            target, host = "http://bestbefore.test/clock", "bestbefore.test"
        begin = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n"
        whole = f"{begin}X: {'x' * 70_000}\r\n\r\n"
        client.sendall(((f"{begin}\r\n" if place == "pipelined" else "") + whole + f"{begin}\r\n").encode())
        received = b""
        with suppress(ConnectionError):  # what came behind it was not read
            while data := client.recv(65536):
                received += data
    statuses = re.findall(rb"HTTP/1\.1 (\d+) ", received)
    assert statuses == ([b"200", b"431"] if place == "pipelined" else [b"431"])


def test_a_head_over_http_2_that_is_too_large_ends_the_connection(
    shared_proxy: Any, serve: Serve, authority: Any
) -> None:
    with http2(shared_proxy, serve(Page(), authority.leaf_file)) as client:
        client.ask("GET", *[("x", f"{n:032}" * 32) for n in range(70)])
        ended = False
        while not ended:
            ended = any(isinstance(event, h2.events.ConnectionTerminated) for event in client.receive())


@pytest.mark.parametrize("line", [b"X" * MIB, b"X: y\r\n" * 10_000])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_response_whose_head_does_not_end_is_an_error(
    shared_proxy: Any, serve: Serve, method: str, line: bytes
) -> None:
    url = serve(Endless(line))
    with little_is_held(shared_proxy):
        assert shared_proxy.get(url + "/", method=method).status == 502


# Objects.


@pytest.mark.slow
def test_a_domain_brings_in_only_so_many_new_objects_a_day(start_proxy: Any, start_origin: Any) -> None:
    few = "import sys; from bestbefore.addon.proxy.access import new_objects; new_objects.PER_DAY = 3; " \
        "from bestbefore.addon.cli import main; main(sys.argv[2:])"
    proxy, origin = start_proxy(under=(sys.executable, "-c", few)), start_origin({})
    origin.extra = {"Cache-Control": "max-age=600"}
    asked = [proxy.get(f"{origin.url}/{number}") for _ in range(2) for number in range(5)]
    assert [answer.is_hit for answer in asked] == [False] * 5 + [True] * 3 + [False] * 2
    assert "detail=too-many-objects" in asked[-1].cache_status
    assert asked[-1].body == b"/4 version 0\n"
