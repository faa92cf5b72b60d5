"""Clients that do not trust the proxy's certificates, beside others at the same address that do."""

import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def proxy(start_module_proxy: Callable[..., Any], authority: Any) -> Any:
    return start_module_proxy(env={"SSL_CERT_FILE": str(authority.ca_file)})


def told(proxy: Any, refuse: Callable[[], Any]) -> Any:
    """What a client gets that refuses the certificate, once the proxy knows that."""
    before, got = proxy.refusals(), refuse()
    proxy.wait_for_refusal(before)
    return got


class Program:
    """A client with its own way to begin TLS, that trusts one authority."""

    def __init__(self, proxy: Any, ciphers: str) -> None:
        self.proxy = proxy
        self.ciphers = ciphers

    def context(self, ca_file: Any) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=ca_file)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_ciphers(self.ciphers)
        return context

    def tunnel(self, host: str, port: int) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.proxy.port), 20)
        plain.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert plain.recv(65536).startswith(b"HTTP/1.1 200")
        return plain

    def sees(self, ca_file: Any, host: str, port: int) -> str:
        """Whose answer it gets, by Via; empty if it refuses the certificate."""
        with closing(self.tunnel(host, port)) as plain:
            try:
                with self.context(ca_file).wrap_socket(plain, server_hostname="localhost") as tls:
                    tls.sendall(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
                    return "proxy" if b"via: 1.1 bestbefore" in tls.recv(65536).lower() else "origin"
            except ssl.SSLCertVerificationError:
                return ""


def listed(bestbefore: Callable[..., str], proxy: Any, words: str) -> str:
    end = time.monotonic() + 60
    while words not in (shown := bestbefore("tunnels", "--state", proxy.state)):
        assert time.monotonic() < end, shown
        time.sleep(0.05)
    return shown


def test_only_the_program_that_refuses_is_tunnelled_until_that_is_lifted(
    proxy: Any, authority: Any, start_origin: Callable[..., Any], bestbefore: Callable[..., str]
) -> None:
    port = int(start_origin({"/": [0.0]}, authority.leaf_file).url.rpartition(":")[2])
    own_ca = proxy.state / "mitmproxy-ca-cert.pem"

    def curl(ca_file: Any) -> tuple[int, str]:
        through = ["-x", f"http://127.0.0.1:{proxy.port}", "--cacert", ca_file]
        command = ["curl", "-si", *through, f"https://localhost:{port}/"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, "proxy" if "bestbefore" in done.stdout.lower() else "origin" if done.stdout else ""

    other = Program(proxy, "ECDHE+AESGCM")
    assert other.sees(own_ca, "localhost", port) == "proxy"
    assert [told(proxy, lambda: curl(authority.ca_file))[0] for _ in range(2)] == [60, 60]
    assert curl(authority.ca_file) == (0, "origin")
    assert other.sees(own_ca, "localhost", port) == "proxy"
    shown = listed(bestbefore, proxy, "localhost")
    assert "to localhost, from " in shown
    assert "it does not know the proxy's certificate authority" in shown
    assert bestbefore("tunnels", "--state", proxy.state, "--lift", "localhost") == "lifted 1 tunnel\n"
    assert curl(own_ca) == (0, "proxy")
    assert proxy.metric('bestbefore_tunnels_lifted_total{by="command"}') == 1


def test_a_program_that_comes_to_trust_the_proxy_is_intercepted_again(
    proxy: Any, authority: Any, start_origin: Callable[..., Any], bestbefore: Callable[..., str]
) -> None:
    port = int(start_origin({"/": [0.0]}, authority.leaf_file).url.rpartition(":")[2])
    own_ca, program = proxy.state / "mitmproxy-ca-cert.pem", Program(proxy, "ECDHE+CHACHA20")
    answers = [told(proxy, lambda: program.sees(authority.ca_file, "localhost", port)) for _ in range(2)]
    assert answers == ["", ""]
    assert program.sees(authority.ca_file, "localhost", port) == "origin"
    assert program.sees(own_ca, "localhost", port) == "", "it is still tunnelled"
    assert proxy.metric("bestbefore_tunnelled_pairs") == 1
    Program(proxy, "ECDHE+AESGCM").sees(own_ca, "127.0.0.1", port)
    assert proxy.metric("bestbefore_tunnelled_pairs") == 1, "another program shows nothing"
    program.sees(own_ca, "127.0.0.1", port)
    assert program.sees(own_ca, "localhost", port) == "proxy"
    listed(bestbefore, proxy, "nothing is tunnelled")


def test_a_program_that_refuses_after_the_handshake_is_tunnelled_too(
    proxy: Any, authority: Any, start_origin: Callable[..., Any], bestbefore: Callable[..., str]
) -> None:
    port = int(start_origin({"/": [0.0]}, authority.leaf_file).url.rpartition(":")[2])
    own_ca, program = proxy.state / "mitmproxy-ca-cert.pem", Program(proxy, "ECDHE+AES256")
    for _ in range(2):
        refused = proxy.refusals()
        with (
            closing(program.tunnel("localhost", port)) as plain,
            closing(program.context(own_ca).wrap_socket(plain.dup(), server_hostname="localhost")),
        ):
            plain.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))  # no record of this connection ends TLS as an alert does
        proxy.wait_for_refusal(refused)
    assert program.sees(authority.ca_file, "localhost", port) == "origin"
    assert "it ended TLS after the handshake" in listed(bestbefore, proxy, "localhost")
    bestbefore("tunnels", "--state", proxy.state, "--lift", "localhost")
