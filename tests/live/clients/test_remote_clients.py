"""Clients that are not on the proxy's machine: who may use it, and what they cannot reach through it.

A connection from this machine to its own address on a network comes from that address, and so from beyond loopback.
"""

import base64
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from whole_answer import read_answer

pytestmark = pytest.mark.live

type Start = Callable[..., Any]
OPEN = 'listen = "0.0.0.0:0"\nallow_clients = ["{address}"]\n'
NAME = "rebind.example"
CHANGED = "the configuration has changed"


@pytest.fixture(scope="module")
def address() -> str:
    """An address of this machine on a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network but loopback")
        found: str = probe.getsockname()[0]
        return found


@dataclass
class Everywhere:
    """An origin that listens on all addresses of this machine."""

    port: int
    fields: list[Mapping[str, str]] = field(default_factory=list)
    """Of the requests, with lower-case names."""


@pytest.fixture
def origin() -> Iterator[Everywhere]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            started.fields.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", "6")
            self.send_header("Cache-Control", "max-age=600")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"secret")

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("", 0), Handler) as server:
        server.daemon_threads = True
        started = Everywhere(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield started
        server.shutdown()
        thread.join()


@pytest.fixture
def configured(start_proxy: Start, tmp_path: Path) -> Start:
    """Starts a proxy with these lines in [proxy]."""

    def start(lines: str, **more: Any) -> Any:
        config = tmp_path / "proxy.toml"
        config.write_text(f"[proxy]\n{lines}")
        # The listener of the options would go before that of the file.
        listen = ("--listen", "0.0.0.0:0") if "0.0.0.0" in lines else ()
        return start_proxy(*listen, "--config", str(config), **more)

    return start


def replace(file: Path, text: str) -> None:
    """Write a file that the proxy reads, in one step."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def ask(
    proxy: Any, source: str, url: str, fields: Mapping[str, str] | None = None, *, method: str = "GET"
) -> tuple[int, bytes]:
    """Status and content of the answer to a client at this address of the machine."""
    with closing(HTTPConnection(source, proxy.port, timeout=60)) as client:
        client.request(method, url, body=b"x" if method == "POST" else None, headers=dict(fields or {}))
        answer = client.getresponse()
        return answer.status, answer.read()


def tunnel(proxy: Any, source: str, target: str, *lines: str, path: str = "/tunnelled") -> tuple[int, bytes]:
    """The status of a CONNECT, and what a plain request through the tunnel is answered with."""
    with closing(socket.create_connection((source, proxy.port), 60)) as client:
        client.sendall("\r\n".join((f"CONNECT {target} HTTP/1.1", f"Host: {target}", *lines, "", "")).encode())
        status = int(client.recv(65536).split()[1])
        if status != 200:
            return status, b""
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return status, answer


def test_clients_of_other_networks_are_not_listened_to(configured: Start, address: str) -> None:
    proxy = configured('listen = "0.0.0.0:0"\nallow_clients = ["198.51.100.0/24"]\n')
    with pytest.raises(ConnectionError):
        ask(proxy, address, "http://bestbefore.test/clock")
    assert ask(proxy, "127.0.0.1", "http://bestbefore.test/clock")[0] == 200


LOCAL = (
    *("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f.1", "0.0.0.0"),
    *("169.254.0.1", "[fe80::1]"),
)


def test_allowed_clients_reach_networks_and_not_this_machine(
    configured: Start, address: str, origin: Everywhere
) -> None:
    proxy = configured(OPEN.format(address=address) + f"connect_ports = [{origin.port}]\n")
    for host in LOCAL:
        for method in ("GET", "HEAD", "POST"):
            status, answer = ask(proxy, address, f"http://{host}:{origin.port}/page", method=method)
            assert status in (403, 502), (method, host)
            assert b"secret" not in answer
        assert tunnel(proxy, address, f"{host}:{origin.port}")[0] == 403, host
    assert origin.fields == []
    url = f"http://{address}:{origin.port}/page"
    assert [ask(proxy, address, url, method=method) for method in ("GET", "POST")] == [(200, b"secret")] * 2
    status, answer = tunnel(proxy, address, f"{address}:{origin.port}")
    assert (status, answer[-6:]) == (200, b"secret")


@pytest.fixture
def own_hosts(tmp_path: Path) -> Path:
    """A file that can be /etc/hosts for the proxy alone."""
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("the system gives us no mount namespace of our own")
    return tmp_path / "hosts"


def under(hosts: Path) -> tuple[str, ...]:
    return ("unshare", "-rm", "sh", "-c", f'mount --bind "{hosts}" /etc/hosts && exec "$@"', "sh")


@pytest.mark.parametrize("further", [pytest.param("", marks=pytest.mark.slow), f'passthrough = ["{NAME}"]\n'])
def test_a_name_is_looked_at_by_the_address_it_has_when_connected(
    configured: Start, address: str, origin: Everywhere, own_hosts: Path, further: str
) -> None:
    own_hosts.write_text(f"{address} {NAME}\n")
    lines = OPEN.format(address=address) + f"connect_ports = [{origin.port}]\n" + further
    proxy = configured(lines, under=under(own_hosts))
    url, target = f"http://{NAME}:{origin.port}", f"{NAME}:{origin.port}"
    assert [ask(proxy, address, url + "/a", method=method)[0] for method in ("GET", "POST")] == [200, 200]
    assert tunnel(proxy, address, target, path="/b")[1].endswith(b"secret")
    before = len(origin.fields)
    own_hosts.write_text(f"127.0.0.1 {NAME}\n")
    assert [ask(proxy, address, url + "/c", method=method)[0] for method in ("GET", "POST")] == [502, 502]
    assert b"secret" not in tunnel(proxy, address, target, path="/d")[1]
    assert len(origin.fields) == before


FLIPPING = """
import socket, sys
from bestbefore.addon.cli import main

address, name, answers, asked = sys.argv[1], sys.argv[2], socket.getaddrinfo, 0

def flipping(host, *args, **kwargs):
    global asked
    if host == name:
        asked += 1
        host = address if asked % 2 else "127.0.0.1"
    return answers(host, *args, **kwargs)

socket.getaddrinfo = flipping
main(sys.argv[4:])
"""


@pytest.mark.slow
def test_a_name_that_has_another_address_a_moment_later_gets_nothing(
    configured: Start, address: str, origin: Everywhere
) -> None:
    proxy = configured(OPEN.format(address=address), under=(sys.executable, "-c", FLIPPING, address, NAME))
    statuses = [ask(proxy, address, f"http://{NAME}:{origin.port}/", method="POST")[0] for _ in range(2)]
    assert statuses == [200, 502], "the address that is connected to decides, each time"
    assert len(origin.fields) == 1


@pytest.mark.slow
def test_a_silent_tunnel_to_such_a_name_shows_no_greeting(configured: Start, address: str) -> None:
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=greet, args=(server,), daemon=True).start()
        lines = OPEN.format(address=address) + f"connect_ports = [{port}]\n"
        proxy = configured(lines, under=(sys.executable, "-c", FLIPPING, address, NAME))
        for target, expected in ((f"{address}:{port}", b"220 secret"), (f"{NAME}:{port}", b"")):
            with closing(socket.create_connection((address, proxy.port), 60)) as client:
                client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
                received = b"".join(iter(lambda client=client: client.recv(65536), b""))
                assert received.startswith(b"HTTP/1.1 200")
                assert received.partition(b"\r\n\r\n")[2] == expected
        server.shutdown(socket.SHUT_RDWR)


def greet(server: socket.socket) -> None:
    """Send a greeting to each client of a server."""
    with suppress(OSError):
        while True:
            connection = server.accept()[0]
            with connection, suppress(OSError):
                connection.sendall(b"220 secret")


@pytest.mark.slow
def test_what_a_client_of_this_machine_fetched_from_it_is_not_served_to_others(
    configured: Start, address: str, origin: Everywhere, own_hosts: Path
) -> None:
    own_hosts.write_text(f"127.0.0.1 {NAME}\n")
    proxy = configured(OPEN.format(address=address), under=under(own_hosts))
    for host in ("127.0.0.1", NAME):
        url = f"http://{host}:{origin.port}/page"
        assert [ask(proxy, "127.0.0.1", url) for _ in range(2)] == [(200, b"secret")] * 2
        assert ask(proxy, address, url)[0] == 502
    assert len(origin.fields) == 2


def test_the_proxys_own_addresses_and_tunnels_to_most_ports_are_refused(
    configured: Start, address: str, origin: Everywhere
) -> None:
    proxy = configured(OPEN.format(address=address))
    assert tunnel(proxy, address, f"{address}:{origin.port}")[0] == 403
    assert tunnel(proxy, "127.0.0.1", f"{address}:{origin.port}")[0] == 200
    admin = int(proxy.greeting.split("/metrics")[0].rpartition(":")[2])
    for source in ("127.0.0.1", address):
        for port in (proxy.port, admin):
            for host in ("127.0.0.1", "localhost", "127.1"):
                for method in ("GET", "POST"):
                    assert ask(proxy, source, f"http://{host}:{port}/metrics", method=method)[0] == 403
                assert tunnel(proxy, source, f"{host}:{port}")[0] == 403
        assert ask(proxy, source, f"http://{address}:{proxy.port}/")[0] == 508, "a loop is known by Via"
        assert ask(proxy, source, f"http://{address}:{proxy.port}/", method="POST")[0] == 508


def basic(text: str) -> dict[str, str]:
    return {"Proxy-Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def test_credentials_are_asked_for_and_kept(
    configured: Start, address: str, origin: Everywhere, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    users.write_text("ann:s:cret\n")
    lines = f'listen = "0.0.0.0:0"\ncredentials = "{users}"\nconnect_ports = [{origin.port}]\n'
    proxy = configured(lines)
    target = f"{address}:{origin.port}"
    for method in ("GET", "POST"):
        for wrong in ({}, basic("ann:x"), basic("bob:s:cret"), basic("ann:"), {"Proxy-Authorization": "Bearer s:cret"}):
            assert ask(proxy, address, f"http://{target}/{method}", wrong, method=method)[0] == 407
        assert ask(proxy, address, f"http://{target}/{method}", basic("ann:s:cret"), method=method)[0] == 200
    assert tunnel(proxy, address, target)[0] == 407
    line = ": ".join(*basic("ann:s:cret").items())
    status, answer = tunnel(proxy, address, target, line)
    assert (status, answer[-6:]) == (200, b"secret"), "a tunnel is opened once for all that goes through it"
    assert ask(proxy, "127.0.0.1", f"http://{target}/free")[0] == 200
    assert len(origin.fields) == 4
    assert not any("proxy-authorization" in fields for fields in origin.fields)


def test_who_is_shut_out_while_the_proxy_runs_keeps_no_connection(
    configured: Start, address: str, origin: Everywhere, tmp_path: Path
) -> None:
    """Not even for hits, whose answers are kept for the connection."""
    users, config, target = tmp_path / "users", tmp_path / "proxy.toml", f"{address}:{origin.port}"
    users.write_text("ann:one\nbob:two\n")
    listening = f'listen = "0.0.0.0:0"\nconnect_ports = [{origin.port}]\n'
    proxy = configured(listening + f'credentials = "{users}"\n')
    asks = f"GET http://{target}/page HTTP/1.1\r\nHost: {target}\r\n{{}}\r\n"
    bob = ": ".join(*basic("bob:two").items()) + "\r\n"
    within = f"GET /page HTTP/1.1\r\nHost: {target}\r\n\r\n"
    opening = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{bob}\r\n"

    def status(client: socket.socket, request: str) -> int:
        """That of the answer; 0 if the connection has ended."""
        with suppress(ConnectionError):
            client.sendall(request.encode())
            answer = read_answer(client)
            return int(answer.split()[1]) if answer else 0
        return 0

    plain, tunnelled, free = (socket.create_connection((address, proxy.port), 60) for _ in range(3))
    with plain, tunnelled, free:
        assert [status(plain, asks.format(bob)) for _ in range(3)] == [200] * 3
        assert [status(tunnelled, request) for request in (opening, within, within)] == [200] * 3
        replace(users, "ann:one\n")
        proxy.wait_for_log(CHANGED)
        assert status(plain, asks.format(bob)) == 407
        assert status(tunnelled, within) == 0

        replace(config, f'[proxy]\n{listening}allow_clients = ["{address}"]\n')
        proxy.wait_for_log(CHANGED)
        assert [status(free, asks.format("")) for _ in range(3)] == [200] * 3
        replace(config, f'[proxy]\n{listening}allow_clients = ["198.51.100.0/24"]\n')
        proxy.wait_for_log(CHANGED)
        assert status(free, asks.format("")) == 0


def test_in_front_of_an_origin_clients_reach_it_wherever_it_is(
    configured: Start, address: str, origin: Everywhere
) -> None:
    proxy = configured(OPEN.format(address=address) + f'mode = "reverse:http://127.0.0.1:{origin.port}"\n')
    for method in ("GET", "GET", "POST"):
        assert ask(proxy, address, "/page", method=method) == (200, b"secret")
    # Whatever the request names, it is answered by that origin.
    assert ask(proxy, address, "http://127.0.0.1:1/page", {"Host": "127.0.0.1:1"}) == (200, b"secret")


def test_a_parent_may_be_on_this_machine_and_what_it_is_asked_for_may_not(
    configured: Start, start_proxy: Start, address: str, origin: Everywhere, tmp_path: Path
) -> None:
    parent = start_proxy(state=tmp_path / "parent")
    lines = OPEN.format(address=address) + f"connect_ports = [{origin.port}]\n"
    proxy = configured(lines + f'upstream = "http://localhost:{parent.port}"\n', state=tmp_path / "child")
    url = f"http://{address}:{origin.port}/page"
    assert [ask(proxy, address, url, method=method)[0] for method in ("GET", "GET", "POST")] == [200] * 3
    assert tunnel(proxy, address, f"{address}:{origin.port}")[1].endswith(b"secret")
    before = len(origin.fields)
    for host in LOCAL:
        for method in ("GET", "POST"):
            assert ask(proxy, address, f"http://{host}:{origin.port}/page", method=method)[0] in (403, 502), host
        assert tunnel(proxy, address, f"{host}:{origin.port}")[0] == 403, host
    assert len(origin.fields) == before
