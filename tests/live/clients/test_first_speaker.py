"""Tunnels to origins that speak first, as those of SMTP do, and to others through the same ports."""

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import pytest
from whole_answer import read_answer

from bestbefore.addon.proxy.limits import DEFAULT_LIMITS
from bestbefore.addon.proxy.tunnels.first_speaker import KNOWN_SILENCE_S, WEB_SILENCE_S

pytestmark = pytest.mark.live

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
BANNER = b"220 mail.example ESMTP\r\n"
WITHIN_S = DEFAULT_LIMITS.connect_s * 0.8
"""Before the proxy gives up to connect to an origin."""


@pytest.fixture
def mail(serve_each: Callable[..., None]) -> Callable[..., int]:
    """Starts servers that greet, within TLS if they are given a certificate, and echo what they get; gives the port."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(BANNER)
        while data := connection.recv(65536):
            connection.sendall(b"250 " + data)

    def start(port: int = 0, certificate: Any = None) -> int:
        server = socket.create_server(("127.0.0.2" if certificate is None else "127.0.0.1", port))
        serve_each(server, talk, certificate)
        found: int = server.getsockname()[1]
        return found

    return start


def tunnel(proxy: Any, host: str, port: int) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", proxy.port), 20)
    opened.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert opened.recv(len(ESTABLISHED), socket.MSG_WAITALL) == ESTABLISHED
    return opened


def talk(connection: socket.socket) -> list[bytes]:
    greeting = connection.recv(65536)
    connection.sendall(b"EHLO a\r\n")
    return [greeting, connection.recv(65536)]


def test_an_origin_that_speaks_first_is_forwarded_at_once(shared_proxy: Any, mail: Callable[..., int]) -> None:
    port, took_s = mail(), list[float]()
    for _ in range(5):
        began_s = time.monotonic()
        with closing(tunnel(shared_proxy, "127.0.0.2", port)) as connection:
            assert connection.recv(65536) == BANNER
            took_s.append(time.monotonic() - began_s)
            connection.sendall(b"EHLO a\r\n")
            assert connection.recv(65536) == b"250 EHLO a\r\n"
    assert min(took_s) < KNOWN_SILENCE_S / 2


def test_an_origin_that_speaks_first_within_tls_is_forwarded_within_it(
    shared_proxy: Any, authority: Any, mail: Callable[..., int]
) -> None:
    context = ssl.create_default_context(cafile=shared_proxy.state / "mitmproxy-ca-cert.pem")
    with (
        closing(tunnel(shared_proxy, "localhost", mail(0, authority.leaf_file))) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        assert talk(connection) == [BANNER, b"250 EHLO a\r\n"]


def test_an_origin_that_accepts_no_connection_holds_up_no_client(shared_proxy: Any) -> None:
    context = ssl.create_default_context(cafile=shared_proxy.state / "mitmproxy-ca-cert.pem")
    with socket.create_server(("127.0.0.2", 0), backlog=1) as full, ExitStack() as waiting:
        for _ in range(8):  # further connections remain unanswered
            filler = waiting.enter_context(closing(socket.socket()))
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        plain = waiting.enter_context(closing(tunnel(shared_proxy, *full.getsockname())))
        plain.settimeout(2 * KNOWN_SILENCE_S)
        with pytest.raises(TimeoutError):
            plain.recv(1)
        plain.settimeout(WITHIN_S)
        waiting.enter_context(context.wrap_socket(plain, server_hostname="127.0.0.2"))


def test_the_tunnel_of_a_silent_client_to_an_origin_that_is_down_ends(shared_proxy: Any) -> None:
    with closing(tunnel(shared_proxy, "127.0.0.2", 1)) as connection:
        assert connection.recv(1) == b""


def test_on_a_web_port_it_is_forwarded_after_a_short_silence(shared_proxy: Any, mail: Callable[..., int]) -> None:
    try:
        port = mail(8443)
    except OSError:
        pytest.skip("the port is in use")
    began_s = time.monotonic()
    with closing(tunnel(shared_proxy, "127.0.0.2", port)) as connection:
        assert talk(connection) == [BANNER, b"250 EHLO a\r\n"]
        assert time.monotonic() - began_s >= WEB_SILENCE_S


def test_under_passthrough_it_is_forwarded_at_once(
    start_proxy: Callable[..., Any], mail: Callable[..., int], tmp_path: Any
) -> None:
    (tmp_path / "c.toml").write_text('[proxy]\npassthrough = ["127.0.0.2"]\n')
    with closing(tunnel(start_proxy("--config", str(tmp_path / "c.toml")), "127.0.0.2", mail())) as connection:
        assert talk(connection) == [BANNER, b"250 EHLO a\r\n"]


@pytest.mark.parametrize("waits", [False, True])
def test_a_client_that_speaks_tls_later_is_still_intercepted(
    shared_proxy: Any, authority: Any, start_origin: Callable[..., Any], waits: bool
) -> None:
    origin = start_origin({"/": [0.0]}, authority.leaf_file)
    port = int(origin.url.rpartition(":")[2])
    context = ssl.create_default_context(cafile=shared_proxy.state / "mitmproxy-ca-cert.pem")
    with closing(tunnel(shared_proxy, "localhost", port)) as plain:
        if waits:
            plain.settimeout(0.4)
            with pytest.raises(TimeoutError):
                plain.recv(1)
            plain.settimeout(20)
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            for _ in range(2):
                connection.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
                head = read_answer(connection).lower()
                assert head.startswith(b"http/1.1 200")
                assert b"via: 1.1 bestbefore" in head


def test_plain_http_in_a_tunnel_is_answered_too(shared_proxy: Any, start_origin: Callable[..., Any]) -> None:
    authority = start_origin({"/": [0.0]}).url.removeprefix("http://")
    with closing(tunnel(shared_proxy, *authority.split(":"))) as connection:
        connection.settimeout(0.4)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(20)
        for _ in range(2):
            connection.sendall(f"GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
            assert b"via: 1.1 bestbefore" in read_answer(connection).lower()


def test_an_origin_that_is_down_ends_no_tunnel_before_the_client_has_spoken(shared_proxy: Any) -> None:
    with closing(tunnel(shared_proxy, "127.0.0.2", 1)) as connection:
        connection.settimeout(0.4)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(20)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.2:1\r\n\r\n")
        assert b"detail=origin-unreachable" in read_answer(connection)
