"""Several processes on one address: they share a store, and one that is killed comes back."""

import os
import signal
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import PATIENCE_S, Authority, Origin, Proxy, StartProxy

from bestbefore.addon.proxy.origin.pool import QUIET_S

pytestmark = pytest.mark.live


def workers_of(proxy: Proxy) -> set[int]:
    """The processes that were forked by the process that the supervisor has for it."""
    return {worker for child in children(proxy.process.pid) for worker in children(child)}


def children(process: int) -> set[int]:
    return {int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_share_the_store_and_one_that_is_killed_comes_back(
    start_proxy: StartProxy, start_origin: Callable[..., Origin], bestbefore: Callable[..., str]
) -> None:
    origin = start_origin({"/a": [0.0]})
    origin.extra = {"Cache-Control": "max-age=3600"}
    proxy = start_proxy("--workers", "2")
    url = f"{origin.url}/a"
    before = workers_of(proxy)
    assert len(before) == 2
    proxy.get(url)
    proxy.has_written()
    connections = [HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_S) for _ in range(16)]
    answered = [_hits(one, url) for one in connections]
    assert all(answered), "stored by one, it is a hit at the other"
    assert len(origin.contacts) == 1

    lost, stop = list[bool](), threading.Event()

    def load() -> None:
        while not stop.is_set():
            with suppress(OSError, HTTPException):
                lost.append(True)
                assert proxy.get(url).status == 200
                lost.pop()

    load_thread = threading.Thread(target=load)
    load_thread.start()
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: proxy.metric("bestbefore_worker_restarts_total") == 1)
    wait_until(lambda: proxy.metric("bestbefore_workers") == 2 == len(workers_of(proxy) - {victim}))
    stop.set()
    load_thread.join()
    assert len(lost) <= 1, "it held one at most"
    assert proxy.metric('bestbefore_requests_total{outcome="miss",reason="uri-miss"}') == 1

    assert "purged the copies of 1 object" in bestbefore("purge", "--state", str(proxy.state), url)
    wait_until(lambda: proxy.get(url).status == 200 and len(origin.contacts) > 1)
    for one in connections:
        one.close()
    assert proxy.stop() == 0
    output = proxy.output()
    assert "Traceback" not in output
    assert output.count("summary ") == 1
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in before))


def test_a_process_that_forks_workers_may_be_killed_but_not_all_at_once(
    start_proxy: StartProxy, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin({"/a": [0.0]})
    proxy = start_proxy("--workers", "2")
    supervisor, workers = proxy.process.pid, workers_of(proxy)
    forker = next(one for one in children(supervisor) if workers & children(one))
    for restarts in (2, 4):  # also the one that was forked in place of the first
        spares = {spare for one in (*children(supervisor), *workers) for spare in children(one)} - workers
        os.kill(forker, signal.SIGKILL)
        proxy.wait_for_log("a process that forks workers has ended")
        living = {one for one in children(supervisor) | spares if Path(f"/proc/{one}").exists()}
        wait_until(lambda living=living: any(children(one) for one in living))
        forker = next(one for one in living if children(one))
        (spare,) = children(forker)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda wanted=restarts: f"\nbestbefore_worker_restarts_total {wanted}.0\n" in proxy.metrics())
        wait_until(lambda: "\nbestbefore_workers 2.0\n" in proxy.metrics())
        workers = children(forker) - {spare}
        assert proxy.get(f"{origin.url}/a").status == 200
    os.kill(spare, signal.SIGSTOP)  # so that it can take no place meanwhile
    os.kill(forker, signal.SIGKILL)
    os.kill(spare, signal.SIGKILL)
    assert proxy.process.wait(PATIENCE_S) == 1
    proxy.reader.join(PATIENCE_S)
    output = proxy.output()
    assert output.endswith("both processes that fork workers have ended, at once: start the proxy again\n")
    assert "Traceback" not in output


@pytest.mark.slow
def test_a_worker_that_does_nothing_any_more_is_killed_and_replaced(
    start_proxy: StartProxy, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin({"/a": [0.0]})
    proxy = start_proxy("--workers", "2")
    victim, other = sorted(workers_of(proxy))
    os.kill(victim, signal.SIGSTOP)
    began_s = time.monotonic()
    wait_until(lambda: proxy.metric("bestbefore_worker_restarts_total") == 1)
    assert time.monotonic() - began_s > 5, "it may only be busy"
    wait_until(lambda: proxy.metric("bestbefore_workers") == 2)
    assert other in workers_of(proxy)
    assert victim not in workers_of(proxy)
    assert proxy.get(f"{origin.url}/a").status == 200
    assert proxy.stop() == 0
    assert f"worker 1 (process {victim}) does not answer: it is killed" in proxy.output()


def _hits(connection: HTTPConnection, url: str) -> bool:
    """Whether a request on this connection, and so at its worker, is a hit."""
    connection.request("GET", url)
    response = connection.getresponse()
    response.read()
    return "; hit" in response.headers["Cache-Status"]


WITHIN_S = 0.1
ROUNDS = 3
"""The best of these must be within the time: other processes of the machine take their part."""
STILL_S = 4.0
"""For so long a busy machine may stand still."""
CIPHERS = [
    ":".join(f"ECDHE+{cipher}" for cipher in some.split())
    for some in ("AESGCM", "CHACHA20", "AES256", "AES128", "AESGCM CHACHA20", "AES256 CHACHA20", "AES128 CHACHA20")
]
"""By these programs at one address are distinguished."""


class _ConnectionsCounted(socketserver.ThreadingTCPServer):
    """An origin that answers with the number of the connection, and with surplus bytes for `/surplus`."""

    daemon_threads = allow_reuse_address = True
    connections = 0

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            assert isinstance(self.server, _ConnectionsCounted)
            self.server.connections += 1
            content = b"%d" % self.server.connections
            while path := self.rfile.readline():
                while self.rfile.readline().strip():
                    pass
                head = b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: %d\r\n\r\n" % len(content)
                self.wfile.write(head + content)
                if b"/surplus" in path:
                    time.sleep(QUIET_S / 4)
                    self.wfile.write(b"surplus")


@pytest.fixture
def counted() -> Iterator[list[str]]:
    """URLs of such origins."""
    servers = [_ConnectionsCounted(("127.0.0.1", 0), _ConnectionsCounted.Handler) for _ in range(2 * ROUNDS + 1)]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    yield [f"http://127.0.0.1:{one.server_address[1]}" for one in servers]
    for one in servers:
        one.shutdown()
        one.server_close()


class _At:
    """A client of one worker."""

    def __init__(self, proxy: Proxy, worker: int) -> None:
        self.proxy, self.worker = proxy, worker
        self._http = HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_S)
        self._http.sock = self.connection()

    def connection(self) -> socket.socket:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            made = socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE_S)
            if _worker_of(self.proxy, made) == self.worker:
                return made
            made.close()
        raise AssertionError("this worker accepts nothing")

    def ask(self, url: str, method: str = "GET", **fields: str) -> tuple[bytes, str]:
        """The content and Cache-Status of an answer."""
        self._http.request(method, url, headers=fields)
        answer = self._http.getresponse()
        return answer.read(), answer.headers["Cache-Status"] or ""

    def close(self) -> None:
        self._http.close()

    def is_hit(self, url: str) -> bool:
        return "; hit" in self.ask(url, **{"Cache-Control": "only-if-cached"})[1]

    def sees(self, ciphers: str, ca_file: Path, port: int) -> str:
        """Whose certificate a program gets that trusts one authority: `proxy`, `origin`, or none that it accepts."""
        context = ssl.create_default_context(cafile=ca_file)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_ciphers(ciphers)
        with closing(self.connection()) as plain:
            plain.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
            assert plain.recv(65536).startswith(b"HTTP/1.1 200")
            with suppress(ssl.SSLCertVerificationError), context.wrap_socket(plain, server_hostname="localhost") as tls:
                tls.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode())
                return "proxy" if b"via: 1.1 bestbefore" in tls.recv(65536).lower() else "origin"
        return ""


def _worker_of(proxy: Proxy, client: socket.socket) -> int | None:
    """The worker that has accepted a connection."""
    ours, theirs = f":{client.getsockname()[1]:04X}", f":{proxy.port:04X}"
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        inodes = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(theirs) and row[2].endswith(ours)}
        for worker in workers_of(proxy):
            for file in Path(f"/proc/{worker}/fd").iterdir():
                with suppress(OSError):  # closed meanwhile
                    if str(file.readlink()) in inodes:
                        return worker
    return None


def _took_s(condition: Callable[[], bool]) -> float:
    began_s = time.monotonic()
    while not condition():
        assert time.monotonic() < began_s + PATIENCE_S
    return time.monotonic() - began_s


def _found[T](look: Callable[[], T], wanted: T, in_time: list[bool]) -> T:
    """What is found, now or after the longest that a busy machine stands still; notes which it was."""
    found = look()
    in_time.append(found == wanted)
    if found != wanted:
        time.sleep(STILL_S)
        found = look()
    return found


@pytest.mark.slow
def test_what_one_worker_finds_or_is_asked_applies_at_the_other_at_once(
    start_proxy: StartProxy,
    start_origin: Callable[..., Origin],
    authority: Authority,
    counted: list[str],
    bestbefore: Callable[..., str],
) -> None:
    phases = ("running", "away", "restarted")
    paths = [f"/{phase}/{kind}/{i}" for phase in phases for kind in ("purge", "post", "forget") for i in range(ROUNDS)]
    origin = start_origin(dict.fromkeys(paths, (0.0,)))
    origin.extra = {"Cache-Control": "max-age=3600"}
    tls_port = int(start_origin({"/": [0.0]}, authority.leaf_file).url.rpartition(":")[2])
    proxy = start_proxy("--workers", "2", env={"SSL_CERT_FILE": str(authority.ca_file)})
    own_ca, ciphers, origins = proxy.state / "mitmproxy-ca-cert.pem", iter(CIPHERS), iter(counted)
    took_s, in_time = dict[tuple[str, str], list[float]](), list[bool]()

    def stored(phase: str, one: _At, other: _At) -> None:
        for url in (origin.url + path for path in paths if path.startswith(f"/{phase}/")):
            one.ask(url)
            _took_s(lambda url=url: other.is_hit(url))

    def invalidates(phase: str, one: _At, other: _At) -> None:
        for i in range(ROUNDS):
            for kind, method in (("purge", "PURGE"), ("post", "POST")):
                url = f"{origin.url}/{phase}/{kind}/{i}"
                assert other.is_hit(url)
                one.ask(url, method)
                took_s.setdefault((phase, kind), []).append(_took_s(lambda url=url: not other.is_hit(url)))
            if phase != "away":  # which a command says
                url = f"{origin.url}/{phase}/forget/{i}"
                bestbefore("forget", url, "--state", str(proxy.state))
                took_s.setdefault((phase, "forget"), []).append(_took_s(lambda url=url: not other.is_hit(url)))

    def distrusts(phase: str, one: _At, other: _At) -> str:
        """The program that is tunnelled now."""
        program = next(ciphers)
        assert other.sees(program, own_ca, tls_port) == "proxy", program
        assert [one.sees(program, authority.ca_file, tls_port) for _ in range(2)] == ["", ""]
        time.sleep(WITHIN_S)
        sees = partial(other.sees, program, authority.ca_file, tls_port)  # one refusal of its own is not enough
        assert _found(sees, "origin", in_time) == "origin", phase
        return program

    def reuses(at: _At, url: str) -> bool:
        """Whether a worker uses a connection again once it was quiet."""
        before = at.ask(url)[0]
        time.sleep(2 * QUIET_S)
        return at.ask(url)[0] == before

    def finds_unsound(phase: str, one: _At, other: _At) -> str:
        """The URL of the origin."""
        url = next(origins)
        assert reuses(other, url)
        time.sleep(2 * QUIET_S)
        one.ask(f"{url}/surplus")
        time.sleep(QUIET_S / 4 + WITHIN_S)
        found = _found(lambda: other.ask(url)[0], b"3", in_time)
        assert found == b"3", "neither its own, idle since, nor that of the other worker"
        return url

    one, other = (_At(proxy, worker) for worker in sorted(workers_of(proxy)))
    for phase in phases[:2]:
        stored(phase, one, other)
    invalidates("running", one, other)
    program, url = distrusts("running", one, other), finds_unsound("running", one, other)
    bestbefore("tunnels", "--state", str(proxy.state), "--lift", "localhost")
    assert other.sees(program, own_ca, tls_port) == "proxy", "it was lifted"
    program = distrusts("running", other, one)

    (server,) = proxy.servers()
    os.kill(server, signal.SIGSTOP)
    wait_until(lambda: bool(one.ask(url) and other.ask(url)) and proxy.metric("bestbefore_store_down") == 1)
    invalidates("away", one, other)
    distrusts("away", one, other)
    finds_unsound("away", one, other)
    os.kill(server, signal.SIGCONT)
    wait_until(lambda: proxy.metric("bestbefore_store_down") == 0)

    os.kill(other.worker, signal.SIGKILL)
    wait_until(lambda: proxy.metric("bestbefore_workers") == 2 == len(workers_of(proxy) - {other.worker}))
    (new,) = workers_of(proxy) - {one.worker}
    other.close()
    other = _At(proxy, new)
    assert other.sees(program, authority.ca_file, tls_port) == "origin", "what was found before it started"
    assert not reuses(other, url)
    assert not any(other.is_hit(f"{origin.url}/away/purge/{i}") for i in range(ROUNDS))
    stored("restarted", one, other)
    invalidates("restarted", one, other)
    for phase, first, second in (("restarted", one, other), ("restarted back", other, one)):
        distrusts(phase, first, second)
        finds_unsound(phase, first, second)
    print({what: [f"{each_s:.4f}" for each_s in each] for what, each in took_s.items()})
    assert all(min(each) < WITHIN_S for each in took_s.values()), took_s
    assert any(in_time)
    one.close(), other.close()
    assert proxy.stop() == 0
    assert "Traceback" not in proxy.output()


class _Page(BaseHTTPRequestHandler):
    """A page that is fresh for an hour, with what is in `content`."""

    protocol_version = "HTTP/1.1"
    content = b"1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("ETag", f'"{self.content.decode()}"')
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        pass


def test_what_one_worker_has_replaced_the_other_serves_no_more(
    start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its own copy in memory is fresh."""
    proxy = start_proxy("--workers", "2")
    one, other = (_At(proxy, worker) for worker in sorted(workers_of(proxy)))
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/page"
        one.ask(url)
        wait_until(lambda: other.is_hit(url))
        for _ in range(3):
            assert other.ask(url)[0] == b"1"
        monkeypatch.setattr(_Page, "content", b"2")
        assert one.ask(url, **{"Cache-Control": "no-cache"})[0] == b"2"
        wait_until(lambda: other.ask(url)[0] == b"2")
        assert "; hit" in other.ask(url)[1]
        server.shutdown()
    one.close()
    other.close()


@pytest.mark.parametrize("kind", ["valkey", pytest.param("cluster", marks=pytest.mark.slow)])
def test_what_one_proxy_has_replaced_another_on_its_store_serves_no_more(
    start_proxy: StartProxy, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Though its own copy in memory is fresh."""
    found = request.getfixturevalue(kind)
    store = f"redis+cluster://127.0.0.1:{found[0].port}" if kind == "cluster" else found.url
    one, other = (start_proxy("--store", store, state=tmp_path / name) for name in ("one", "other"))
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/page"
        first = one.get(url).body
        one.has_written()
        for _ in range(3):
            assert other.get(url).body == first
        monkeypatch.setattr(_Page, "content", b"3")
        assert one.get(url, {"Cache-Control": "no-cache"}).body == b"3"
        wait_until(lambda: other.get(url).body == b"3")
        assert other.get(url).is_hit
        assert other.metric("bestbefore_contacts_total") == 0
        server.shutdown()
