"""Origins whose certificates come from a private authority, are for another name, or come from none that is trusted."""

import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from certificates_made import Issuer
from whole_answer import read_answer

pytestmark = pytest.mark.live

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    return Issuer("Known", tmp_path_factory.mktemp("known"))


@pytest.fixture(scope="module")
def ca_file(tmp_path_factory: pytest.TempPathFactory, authority: Any, issuer: Issuer) -> Path:
    """Of the authorities that the proxy trusts for localhost."""
    path = tmp_path_factory.mktemp("config") / "ca.pem"
    path.write_bytes(authority.ca_file.read_bytes() + issuer.pem)
    return path


@pytest.fixture(scope="module")
def proxy(start_module_proxy: Callable[..., Any], ca_file: Path) -> Any:
    """Trusts the authorities of the tests for localhost, and anything at 127.0.0.2."""
    config = ca_file.parent / "proxy.toml"
    config.write_text(
        '[[domain]]\nmatch = "localhost"\norigin_ca = "ca.pem"\n[[domain]]\nmatch = "127.0.0.2"\nverify = false\n'
    )
    return start_module_proxy("--config", str(config))


@pytest.fixture
def port(authority: Any) -> Iterator[int]:
    """Of an origin at every address of this machine, with a certificate for localhost; it also switches protocols."""
    server = socket.create_server(("", 0))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.leaf_file)

    def answer(connection: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as tls:
            if b"websocket" in tls.recv(65536):
                tls.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
                tls.recv(1)
            else:
                tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def test_a_private_authority_is_trusted_where_it_is_configured(proxy: Any, port: int) -> None:
    assert proxy.get(f"https://localhost:{port}/").body == b"ok"
    assert proxy.get(f"https://127.0.0.2:{port}/").body == b"ok"
    refused = proxy.get(f"https://127.0.0.1:{port}/")
    assert (refused.status, refused.cache_status) == (502, "bestbefore; detail=origin-tls")
    assert b"an authority that this machine does not trust; if the server is yours" in refused.body
    assert b"origin_ca" in refused.body
    assert b"_ssl" not in refused.body


UNTRUSTED = "comes from an authority that this machine does not trust; if the server is yours, name the file of that "


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ({"valid_d": (-2, -1)}, "the certificate of localhost has expired; check the clock"),
        ({"valid_d": (1, 2)}, "the certificate of localhost is not valid yet; check the clock"),
        ({"host": "other.test"}, "the certificate of the server is for another name than localhost; check the name"),
        ({"itself": True}, "the certificate of localhost is signed by itself, not by an authority; if the server is "),
        ({"by": "Unknown"}, f"the certificate of localhost {UNTRUSTED}"),
        ({"crl": True}, ""),
    ],
    ids=["expired", "not-yet-valid", "other-host", "self-signed", "untrusted", "list-of-revoked-unread"],
)
def test_a_certificate_is_accepted_or_a_sentence_says_why_not(
    proxy: Any, issuer: Issuer, start_raw_origin: Callable[..., str], tmp_path: Path, kind: dict[str, Any], why: str
) -> None:
    by = Issuer(kind["by"], tmp_path) if "by" in kind else issuer
    leaf = by.issue(**{name: value for name, value in kind.items() if name != "by"})
    answer = proxy.get(start_raw_origin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", leaf))
    if why:
        assert (answer.status, answer.cache_status) == (502, "bestbefore; detail=origin-tls")
        assert answer.body.decode().startswith(f"bestbefore: {why}")
    else:
        assert answer.body == b"ok"


def test_a_changed_file_of_authorities_is_read(
    proxy: Any, ca_file: Path, start_raw_origin: Callable[..., str], tmp_path: Path
) -> None:
    new = Issuer("New", tmp_path)
    url = start_raw_origin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", new.issue())
    assert UNTRUSTED in proxy.get(url).body.decode()
    ca_file.write_bytes(ca_file.read_bytes() + new.pem)
    deadline_s = time.monotonic() + 60
    while proxy.get(url).body != b"ok":
        assert time.monotonic() < deadline_s
        proxy.process.send_signal(signal.SIGHUP)  # looks at the files at once, instead of within a second
        time.sleep(0.05)


def test_a_websocket_is_verified_alike(proxy: Any, port: int) -> None:
    def answer(host: str) -> bytes:
        lines = (f"GET https://{host}:{port}/ HTTP/1.1", f"Host: {host}:{port}", "Connection: Upgrade", "", "")
        head = "\r\n".join(lines[:3]) + "\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
        with closing(socket.create_connection(("127.0.0.1", proxy.port), 20)) as client:
            client.sendall(head.encode())
            return read_answer(client)

    answers = [answer(host) for host in ("localhost", "127.0.0.2", "127.0.0.1")]
    assert [got[:12] for got in answers] == [b"HTTP/1.1 101", b"HTTP/1.1 101", b"HTTP/1.1 502"]
    assert f"\r\n\r\nbestbefore: the certificate of 127.0.0.1 {UNTRUSTED}" in answers[2].decode()
    assert b"cache-status: bestbefore; detail=origin-tls\r\n" in answers[2].lower()


def test_a_browser_gets_a_page_and_curl_a_line(proxy: Any, port: int) -> None:
    url = f"https://127.0.0.1:{port}/a?q=<x>"
    page = proxy.get(url.replace("<x>", "%3Cx%3E'&amp;"), BROWSER)
    assert (page.status, page.fields["content-type"]) == (502, "text/html; charset=utf-8")
    assert f"https://127.0.0.1:{port}/a?q=%3Cx%3E&#x27;&amp;amp;".encode() in page.body
    assert b"<b>Reason:</b> the certificate of 127.0.0.1 comes from an authority" in page.body
    assert b"<b>What to try:</b> if the server is yours" in page.body
    command = ["curl", "-s", "-x", f"http://127.0.0.1:{proxy.port}", "http://127.0.0.1:1/"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert shown == (
        "bestbefore: 127.0.0.1 refuses connections to port 1; check the address, and whether the server runs\n"
    )


def test_check_config_reads_the_file(
    bestbefore: Callable[..., str], preloaded: Any, tmp_path: Path, authority: Any
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text(f'[[domain]]\nmatch = "a.example"\norigin_ca = "{authority.ca_file}"\nverify = false\n')
    shown = bestbefore("check-config", config)
    assert f"origin_ca = {authority.ca_file}" in shown
    assert "verify = false" in shown
    config.write_text('[[domain]]\nmatch = "a.example"\norigin_ca = "proxy.toml"\n')
    status, shown = preloaded.run("check-config", config)
    assert status == 2
    assert 'origin_ca = "proxy.toml": expected a file of certificates in PEM form' in shown
