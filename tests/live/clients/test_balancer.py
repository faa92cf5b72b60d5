"""Clients behind HAProxy, which states their addresses with the PROXY protocol.

The tests state addresses to HAProxy in the same way, so that its clients seem to be on other machines.
"""

import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

HAPROXY = Path(__file__).parents[3] / "deploy" / "haproxy" / "haproxy.cfg"
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy (Debian's package) is not installed"),
]
CONFIG = """
[proxy]
workers = 2
allow_clients = ["192.0.2.0/24", "2001:db8::/32", "127.0.0.0/8"]
proxy_protocol_from = ["127.0.0.1"]
log_format = "seen {client} {method} {url} {status}"
log_query = true
"""
CLOCK = "http://bestbefore.test/clock"


def begin(port: int, header: str = "") -> socket.socket:
    """A connection to HAProxy or a proxy, whose header states a client."""
    opened = socket.create_connection(("127.0.0.1", port), 60)
    opened.sendall(header.encode("latin-1"))
    return opened


def stated(client: str) -> str:
    return f"PROXY TCP{6 if ':' in client else 4} {client} {'::1' if ':' in client else '127.0.0.1'} 4711 80\r\n"


def ask(client: socket.socket, url: str, method: str = "GET", *lines: str) -> int:
    """The status of a response; 0: the connection was closed. The connection is kept."""
    host = url if method == "CONNECT" else urlsplit(url).netloc or "bestbefore.test"
    client.sendall("\r\n".join((f"{method} {url} HTTP/1.1", f"Host: {host}", *lines, "", "")).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        if not (data := client.recv(65536)):
            return 0
        answer += data
    head, _, content = answer.partition(b"\r\n\r\n")
    length = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while length and len(content) < length[0]:
        content += client.recv(65536)
    return int(head.split()[1])


def test_the_client_is_the_one_of_the_header(
    start_proxy: Callable[..., Any], start_process: Callable[..., Any], tmp_path: Path, free_port: Callable[[], int]
) -> None:
    (tmp_path / "proxy.toml").write_text(CONFIG)
    proxy, port = start_proxy("--config", str(tmp_path / "proxy.toml")), free_port()
    text = HAPROXY.read_text().replace("127.0.0.1:3128", f"127.0.0.1:{port} accept-proxy")
    text = text.replace("proxy1.example:8080", f"127.0.0.1:{proxy.port} no-check")
    (tmp_path / "haproxy.cfg").write_text(re.sub(r"    server .*\.example.*\n", "", text))
    start_process(["haproxy", "-db", "-q", "-f", tmp_path / "haproxy.cfg"], stderr=subprocess.DEVNULL)
    until_open(port)
    people = ("192.0.2.7", "192.0.2.8", "2001:db8::7")
    with ExitStack() as opened:
        kept = {client: opened.enter_context(closing(begin(port, stated(client)))) for client in people}
        for _ in range(4):  # HAProxy keeps connections to the proxy, and must not mix them
            for client, connection in kept.items():
                assert ask(connection, f"{CLOCK}?{client}") == 200
    with closing(begin(port, stated("192.0.2.9"))) as tunnel:
        assert ask(tunnel, "bestbefore.test:443", "CONNECT") == 200
        context = ssl.create_default_context(cafile=proxy.state / "mitmproxy-ca-cert.pem")
        with context.wrap_socket(tunnel, server_hostname="bestbefore.test") as within:
            ask(within, "/within")
    with closing(begin(port, stated("127.0.0.1"))) as local:
        assert ask(local, CLOCK, "PURGE") == 403
        assert ask(local, f"http://127.0.0.1:{port}/") in (403, 502)
        assert ask(local, "127.0.0.1:22", "CONNECT") == 403
    with closing(begin(port, stated("203.0.113.1"))) as other:
        assert ask(other, CLOCK) == 502, "the proxy closes the connection, HAProxy answers"
    for header in ("", "PROXY TCP4 192.0.2.7\r\n", "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x04abcd"):
        with closing(begin(proxy.port, header)) as refused:
            assert ask(refused, CLOCK) == 0
    with closing(begin(proxy.port, stated("192.0.2.7"))) as doubled:
        assert ask(doubled, stated("127.0.0.1") + CLOCK) == 400
    assert proxy.stop() == 0
    seen = [line.split() for line in proxy.output().splitlines() if line.startswith("seen ")]
    of_people = [(client, url) for _, client, _, url, _ in seen if url.startswith(f"{CLOCK}?")]
    assert sorted(of_people) == sorted((client, f"{CLOCK}?{client}") for client in people for _ in range(4))
    assert [client for _, client, _, url, _ in seen if url.endswith("/within")] == ["192.0.2.9"]
    assert proxy.output().count("127.0.0.1 is refused: no header of the PROXY protocol") == 3


def until_open(port: int) -> None:
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("HAProxy does not listen")
