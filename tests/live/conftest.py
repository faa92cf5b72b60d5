"""Real processes on loopback: the proxy as a user starts it, and origins that play recorded updates."""

import bisect
import itertools
import os
import queue
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.certs import CertStore
from preloaded import Forked, Preloaded

COMMAND = Path(sys.executable).parent / "bestbefore"
PATIENCE_S = 90.0


@dataclass
class Proxy:
    """A running `bestbefore proxy`."""

    process: subprocess.Popen[str] | Forked
    port: int
    greeting: str
    state: Path
    lines: "queue.SimpleQueue[str]"
    reader: threading.Thread
    """Takes the lines from the process as they come."""
    printed: list[str] = field(default_factory=list)
    """What was taken of the lines."""

    def get(self, url: str, fields: Mapping[str, str] | None = None, *, method: str = "GET") -> "Got":
        """One request through the proxy on a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, url, headers=dict(fields or {}))
            return Got.of(connection.getresponse())
        finally:
            connection.close()

    def policy_time_s(self) -> float:
        """The proxy's policy time now, by the Date of its own page."""
        return parsedate_to_datetime(self.get("http://bestbefore.test/").fields["date"]).timestamp()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process and return its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        return status

    def output(self) -> str:
        """What it has printed since the greeting; complete once it has been stopped."""
        while not self.lines.empty():
            self.printed.append(self.lines.get())
        return "".join(self.printed)

    def wait_for_log(self, words: str, patience_s: float = PATIENCE_S) -> str:
        """Wait for a line with these words, among those printed since the last such wait; return it."""
        end = time.monotonic() + patience_s
        while True:
            try:
                self.printed.append(self.lines.get(timeout=max(0.0, end - time.monotonic())))
            except queue.Empty:
                pytest.fail(f"the proxy did not print {words!r}: {''.join(self.printed)}")
            if words in self.printed[-1]:
                return self.printed[-1]

    def has_written(self) -> None:
        """Wait until all that it has learnt and fetched is in its store."""
        end = time.monotonic() + PATIENCE_S
        idle = 0  # twice: it learns from a contact just after the client has the response
        while idle < 2:
            assert time.monotonic() < end
            time.sleep(0.02)
            pending = self.metric("bestbefore_pending_observations") or self.metric("bestbefore_pending_copies")
            idle = 0 if pending else idle + 1

    def refusals(self) -> float:
        """How many clients it knows to have refused its certificate."""
        name = 'bestbefore_client_handshakes_total{result="failed"}'
        return self.metric(name) if name in self.metrics() else 0.0

    def wait_for_refusal(self, before: float) -> None:
        """Wait until it knows of more of these than before: the alert of a client that has left is on its way."""
        end = time.monotonic() + PATIENCE_S
        while self.refusals() <= before:
            assert time.monotonic() < end
            time.sleep(0.01)

    def servers(self) -> list[int]:
        """The processes of embedded servers that use its state directory, as /proc has them."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended meanwhile
                if (folder / "cwd").readlink() == self.state / "valkey" and "valkey" in (folder / "comm").read_text():
                    found.append(int(folder.name))
        return found

    def metric(self, name: str) -> float:
        """A metric, with its labels if it has any, from the admin address."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.metrics(), re.MULTILINE)
        assert found is not None, name
        return float(found[1])

    def metrics(self) -> str:
        """All metrics, from the admin address."""
        where = re.search(r"metrics +(http://\S+)", self.greeting)
        assert where is not None, self.greeting
        with urlopen(where[1], timeout=PATIENCE_S) as answer:
            exposition: str = answer.read().decode()
        return exposition


@dataclass(frozen=True)
class Got:
    """A response as a client sees it."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    @classmethod
    def of(cls, response: HTTPResponse) -> "Got":
        fields = {name.lower(): ", ".join(response.headers.get_all(name)) for name in response.headers}
        return cls(response.status, fields, response.read())

    @property
    def cache_status(self) -> str:
        return self.fields.get("cache-status", "")

    @property
    def is_hit(self) -> bool:
        return "; hit" in self.cache_status


StartProxy = Callable[..., Proxy]


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Preloaded]:
    """Spares proxies, and commands beside them, their imports."""
    process = Preloaded()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def bestbefore(preloaded: Preloaded) -> Callable[..., str]:
    """Runs a command that must succeed; what it says."""

    def run(*arguments: object) -> str:
        status, output = preloaded.run(*arguments)
        assert status == 0, output
        return output

    return run


@pytest.fixture(scope="session")
def proxy_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders with a certificate authority each, in turn, so that proxies in one test have different ones.

    Making one takes as long as all else at the start of a proxy. Proxies that are started in other ways make theirs.
    """
    folders = [tmp_path_factory.mktemp("proxy-authority") for _ in range(3)]
    for folder in folders:
        CertStore.from_store(folder, "mitmproxy", 2048)
    return itertools.cycle(folders)


@contextmanager
def _starting(folder: Path, preloaded: Preloaded, authorities: Iterator[Path]) -> Iterator[StartProxy]:
    """Starts proxies; all that still run at the end are killed."""
    started: list[tuple[subprocess.Popen[str] | Forked, threading.Thread]] = []

    def start(
        *options: str,
        state: Path = folder / "state",
        env: Mapping[str, str] | None = None,
        under: Sequence[str] = (),
        kind: str = "proxy",
    ) -> Proxy:
        """`under`: a command that becomes the one that is given to it, such as `unshare`. `kind`: or `hub`.

        It has one process unless the options say otherwise: each further one takes a second to start. Several are
        tested in test_workers.py and test_stampede.py.
        """
        if kind == "proxy" and "--workers" not in options:
            options = (*options, "--workers", "1")
        command = [kind, "--listen", "127.0.0.1:0", "--state", str(state), "--admin", "127.0.0.1:0", *options]
        env = {**os.environ, **(env or {})}
        process: subprocess.Popen[str] | Forked
        if under:
            process = subprocess.Popen(
                [*under, COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
            )
        else:
            if not state.exists():
                shutil.copytree(next(authorities), state)  # with the rights of the folder, for its owner alone
            process = preloaded.start(command, env)
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        reader = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
        started.append((process, reader))
        reader.start()
        greeting, end = "", time.monotonic() + PATIENCE_S
        while "bestbefore show" not in greeting:
            try:
                greeting += lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"the proxy did not start: {greeting}")
        port = re.search(r"listens on http://\S+:(\d+)", greeting)
        assert port is not None, greeting
        return Proxy(process, int(port[1]), greeting, state, lines, reader)

    try:
        yield start
    finally:
        for process, reader in started:
            process.kill()
            process.wait()
            reader.join(PATIENCE_S)  # its children end with it, and so does its output
            if process.stdout is not None and not reader.is_alive():
                process.stdout.close()


@pytest.fixture
def start_proxy(
    tmp_path: Path, preloaded: Preloaded, proxy_authorities: Iterator[Path]
) -> Iterator[StartProxy]:
    """Starts proxies; all that still run at the end of the test are killed."""
    with _starting(tmp_path, preloaded, proxy_authorities) as start:
        yield start


@pytest.fixture(scope="module")
def start_module_proxy(
    tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded, proxy_authorities: Iterator[Path]
) -> Iterator[StartProxy]:
    """Starts proxies that all tests of a file share and leave as they are; each must end well."""
    started: list[Proxy] = []

    def start_one(*options: str, **further: Any) -> Proxy:
        started.append(start(*options, state=tmp_path_factory.mktemp("shared") / "state", **further))
        return started[-1]

    with _starting(tmp_path_factory.getbasetemp(), preloaded, proxy_authorities) as start:
        yield start_one
        for proxy in started:
            assert proxy.stop() == 0
            assert "Traceback" not in proxy.output()


@pytest.fixture(scope="module")
def shared_proxy(start_module_proxy: StartProxy, authority: "Authority") -> Proxy:
    """One for all tests of a file that leave it as it is. It trusts the authority of the tests."""
    return start_module_proxy(env={"SSL_CERT_FILE": str(authority.ca_file)})


def _pump(stream: Any, lines: "queue.SimpleQueue[str]") -> None:
    for line in stream:
        lines.put(line)


@dataclass(frozen=True)
class Contact:
    """One request that reached the origin."""

    path: str
    method: str
    status: int
    version: int
    fields: Mapping[str, str]
    at_s: float = field(default_factory=time.time)


@dataclass
class Origin:
    """An HTTP origin whose objects have the recorded updates; policy time is told by `now`."""

    updates: Mapping[str, Sequence[float]]
    url: str = ""
    now: Callable[[], float] = time.time
    contacts: list[Contact] = field(default_factory=list)
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further fields of each answer."""
    serial: Iterator[int] | None = None
    """If set, whatever is asked for is another version each time, the next of these. It bears no Date, whose whole
    seconds would make one moment of several contacts."""
    stop: Callable[[], None] = lambda: None

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Version n of an object is what it is after its first n updates."""
        now_s, times = self.now(), self.updates.get(handler.path)
        version = 0 if times is None else bisect.bisect_right(times, now_s)
        if self.serial is not None:
            version = next(self.serial)
        body = f"{handler.path} version {version}\n".encode()
        fields = {"Date": formatdate(now_s, usegmt=True), "ETag": f'"{version}"', "Content-Type": "text/plain"}
        fields.update(self.extra)
        if self.serial is not None:
            del fields["Date"]
        if times is not None and version:
            fields["Last-Modified"] = formatdate(times[version - 1], usegmt=True)
        current = handler.headers.get("If-None-Match") == f'"{version}"'
        status = 404 if times is None and self.serial is None else 304 if current else 200
        if status != 304:
            fields["Content-Length"] = str(len(body))
        asked = {name.lower(): value for name, value in handler.headers.items()}
        self.contacts.append(Contact(handler.path, handler.command, status, version, asked))
        handler.send_response_only(status)
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        if status != 304 and handler.command == "GET":
            handler.wfile.write(body)


class Load:
    """Clients that each ask for objects of their own, one after the other, and insist on the origin every time."""

    CLIENTS = 4
    OBJECTS = 4
    PAUSE_S = 0.03
    """Between two requests of a client: an object is asked for every 140 ms or so."""

    def __init__(self, url: str, port: int) -> None:
        """`url`: of the origin; `port`: of the proxy."""
        self._url = url
        self._stopped = threading.Event()
        self.port = port
        """May be set to that of another proxy."""
        self.round = 0
        """Each has objects of its own."""
        self.answered = 0
        self.refused: list[str] = []
        """What was answered with another status than 200."""
        self.broken = 0
        """Connections that broke, or could not be made."""
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(self.CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_S)

    def goes_on(self, requests: int = 100) -> None:
        """Wait for so many more answers."""
        wanted, end = self.answered + requests, time.monotonic() + PATIENCE_S
        while self.answered < wanted:
            assert time.monotonic() < end, f"{self.answered} answered, {self.broken} broken, {self.refused[-3:]}"
            time.sleep(0.005)

    def _run(self, client: int) -> None:
        connection, port, n = None, 0, 0
        while not self._stopped.wait(self.PAUSE_S):
            if connection is None or port != self.port:
                port = self.port
                connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            path = f"{self._url}/{self.round}/{client}/{n % self.OBJECTS}"
            try:
                connection.request("GET", path, headers={"Cache-Control": "no-cache"})
                got = Got.of(connection.getresponse())
            except (OSError, HTTPException):
                self.broken += 1
                connection.close()
                connection = None
                continue
            n += 1
            if got.status == 200:
                self.answered += 1
            else:
                self.refused.append(f"{got.status} {got.cache_status}")
        if connection is not None:
            connection.close()


@pytest.fixture
def start_load() -> Iterator[Callable[[str, int], Load]]:
    """Starts clients of an origin (its URL) through a proxy (its port); they are stopped at the end of the test."""
    loads: list[Load] = []

    def start(url: str, port: int) -> Load:
        loads.append(Load(url, port))
        return loads[-1]

    yield start
    for load in loads:
        load.stop()


@dataclass(frozen=True)
class Authority:
    """A certificate authority of the tests, and a certificate for localhost that it has signed."""

    ca_file: Path
    leaf_file: Path


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Made by mitmproxy's own tools."""
    folder = tmp_path_factory.mktemp("authority")
    entry = CertStore.from_store(folder, "origin", 2048).get_cert("localhost", [x509.DNSName("localhost")], None)
    leaf = folder / "leaf.pem"
    key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    leaf.write_bytes(entry.cert.to_pem() + key)
    return Authority(folder / "origin-ca-cert.pem", leaf)


StartOrigin = Callable[..., Origin]


@contextmanager
def _origins() -> Iterator[StartOrigin]:
    """Starts origins on ports of their own; all are closed at the end."""
    origins: list[Origin] = []

    def start(updates: Mapping[str, Sequence[float]], leaf_file: Path | None = None) -> Origin:
        origin = Origin(updates)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and content are two writes: the second would wait for 40 ms

            def do_GET(self) -> None:
                origin.answer(self)

            do_HEAD = do_GET

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                origin.contacts.append(Contact(self.path, "POST", 200, 0, {}))
                self.send_response_only(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        server = Server(("127.0.0.1", 0), Handler)
        if leaf_file is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(leaf_file)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        scheme, host = ("http", "127.0.0.1") if leaf_file is None else ("https", "localhost")
        origin.url = f"{scheme}://{host}:{server.server_port}"

        def stop() -> None:
            server.shutdown()
            server.close_connections()
            thread.join()
            server.server_close()
            origin.stop = lambda: None

        origin.stop = stop
        origins.append(origin)
        return origin

    yield start
    for origin in origins:
        origin.stop()


@pytest.fixture
def start_origin() -> Iterator[StartOrigin]:
    """Starts origins; all are closed at the end of the test."""
    with _origins() as start:
        yield start


@pytest.fixture(scope="module")
def start_module_origin() -> Iterator[StartOrigin]:
    """Starts origins that all tests of a file share."""
    with _origins() as start:
        yield start


class Server(ThreadingHTTPServer):
    """Knows its connections, so that an origin that goes down goes down at once."""

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        self._open: list[socket.socket] = []
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error."""

    def close_connections(self) -> None:
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


Serve = Callable[[socket.socket, Callable[[socket.socket], object], Path | None], None]


@pytest.fixture
def serve_each() -> Iterator[Serve]:
    """Lets a function talk on each connection to a server, one at a time, until the test ends; over TLS as localhost
    if it is given the file of a certificate."""
    servers: list[socket.socket] = []

    def start(server: socket.socket, talk: Callable[[socket.socket], object], certificate: Path | None) -> None:
        servers.append(server)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        if certificate is not None:
            context.load_cert_chain(certificate)

        def begun(accepted: socket.socket) -> socket.socket:
            return accepted if certificate is None else context.wrap_socket(accepted, server_side=True)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    accepted, _ = server.accept()
                    with accepted, suppress(OSError), begun(accepted) as connection:
                        talk(connection)

        threading.Thread(target=serve, daemon=True).start()

    yield start
    for server in servers:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


@pytest.fixture
def start_raw_origin(serve_each: Serve) -> Callable[..., str]:
    """Starts origins that answer each request with the same bytes and close, with a certificate over TLS."""

    def start(answer: bytes, certificate: Path | None = None) -> str:
        def talk(connection: socket.socket) -> None:
            connection.recv(65536)
            connection.sendall(answer)

        server = socket.create_server(("127.0.0.1", 0))
        serve_each(server, talk, certificate)
        host = "http://127.0.0.1" if certificate is None else "https://localhost"
        return f"{host}:{server.getsockname()[1]}"

    return start


@pytest.fixture(scope="session")
def recorded_updates() -> Mapping[str, Sequence[float]]:
    """The update times of real objects (tests/data/README.md), by their paths."""
    updates: dict[str, list[float]] = {}
    for line in (Path(__file__).parent.parent / "data" / "excerpt.updates.csv").read_text().splitlines()[1:]:
        name, time_s = line.split(",")
        updates.setdefault(f"/{name}", []).append(float(time_s))
    return updates
