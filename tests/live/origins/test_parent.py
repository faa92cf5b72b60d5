"""Behind a parent proxy, which is a second bestbefore: plain and HTTPS, with and without content, and in loops."""

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

type Start = Callable[..., Any]
UPDATES = {"/page": [1_000_000_000.0]}


def config(folder: Path, name: str, *lines: str) -> str:
    file = folder / f"{name}.toml"
    file.write_text("\n".join(("[proxy]", *lines, "")))
    return str(file)


def exchange(connection: socket.socket, method: str, target: str, host: str) -> bytes:
    """Send a request on a connection that ends with its answer."""
    content = b"content" if method == "POST" else b""
    lines = (f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", f"Content-Length: {len(content)}")
    connection.sendall("\r\n".join((*lines, "", "")).encode() + content)
    answer = b""
    while chunk := connection.recv(65536):
        answer += chunk
    return answer


def ask(proxy: Any, url: str, method: str = "GET", trusted: Any = None, silent_s: float = 0.0) -> bytes:
    """The answer to a client that trusts the certificates of one proxy, and may be silent at first in a tunnel."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    with closing(socket.create_connection(("127.0.0.1", proxy.port), 60)) as plain:
        if scheme == "http":
            return exchange(plain, method, url, host)
        plain.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert plain.recv(65536).startswith(b"HTTP/1.1 200 ")
        time.sleep(silent_s)
        context = ssl.create_default_context(cafile=(trusted or proxy).state / "mitmproxy-ca-cert.pem")
        with context.wrap_socket(plain, server_hostname=host.partition(":")[0]) as secure:
            return exchange(secure, method, slash + path, host)


def test_everything_goes_through_the_parent(
    start_proxy: Start, start_origin: Start, authority: Any, tmp_path: Path
) -> None:
    telling = config(tmp_path, "telling", "[default]", "send_update_history = true")
    parent = start_proxy("--config", telling, state=tmp_path / "parent", env={"SSL_CERT_FILE": str(authority.ca_file)})
    trusting = {"SSL_CERT_FILE": str(parent.state / "mitmproxy-ca-cert.pem")}
    for scheme in ("http", "https"):
        plain, secure = start_origin(UPDATES), start_origin(UPDATES, authority.leaf_file)
        plain.extra = secure.extra = {"Cache-Control": "max-age=600"}
        upstream = config(tmp_path, scheme, f'upstream = "{scheme}://localhost:{parent.port}"')
        child = start_proxy("--config", upstream, state=tmp_path / scheme, env=trusting)
        for origin in (plain, secure):
            url = origin.url + "/page"
            first, second = ask(child, url), ask(child, url)
            if origin is plain:
                wants = {"Want-Update-History": "?1"}
                assert parent.get(url, wants).fields["update-history"].startswith("none;since=")
                assert "update-history" not in child.get(url, wants).fields, "it is not told to"
            posted = ask(child, url, "POST")
            assert first.count(b"Cache-Status: bestbefore; fwd=uri-miss") == 2, "one of the parent, one of the child"
            assert second.count(b"Cache-Status: ") == 2
            assert b"bestbefore; hit" in second
            assert posted.count(b"Cache-Status: bestbefore; fwd=method") == 2
            assert posted.endswith(b"content")
            assert [contact.method for contact in origin.contacts] == ["GET", "POST"]
        for _ in range(2):
            refused = child.refusals()
            with pytest.raises(ssl.SSLCertVerificationError):
                ask(child, url, trusted=parent, silent_s=0.2)
            child.wait_for_refusal(refused)
        tunnelled = ask(child, url, trusted=parent, silent_s=0.2)
        assert tunnelled.count(b"Cache-Status: ") == 1, "the child's tunnel leads to the parent"
    parent.stop()
    assert ask(child, plain.url + "/other").startswith(b"HTTP/1.1 502 ")
    assert len(plain.contacts) == 2, "without its parent the child asks nobody"


def test_two_proxies_that_are_each_others_parent_refuse(
    start_proxy: Start, start_origin: Start, authority: Any, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    origin, port = start_origin(UPDATES, authority.leaf_file), free_port()
    tunnelled = 'passthrough = ["localhost"]'
    file = config(tmp_path, "one", f'upstream = "http://127.0.0.1:{port}"', tunnelled)
    one = start_proxy("--config", file, state=tmp_path / "one")
    # One marks what it sends with Via, the other with a field of its own.
    file = config(tmp_path, "other", f'upstream = "http://127.0.0.1:{one.port}"', tunnelled, "via_request = false")
    other = start_proxy("--config", file, "--listen", f"127.0.0.1:{port}", state=tmp_path / "other")
    for proxy in (one, other):
        for method in ("GET", "POST"):
            assert ask(proxy, "http://example.org/page", method).startswith(b"HTTP/1.1 508 ")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(proxy, origin.url + "/page")  # its tunnel is not intercepted, and so there is no answer to it
        assert proxy.get("http://bestbefore.test/clock").status == 200
    assert origin.contacts == []
