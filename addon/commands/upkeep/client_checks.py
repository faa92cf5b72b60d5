"""Checks whether the usual clients on this machine trust the proxy's certificate authority.

A program is tried, not its settings read: it connects to a server on loopback that has a certificate by the proxy's
authority. A client that refuses it ends the connection before it sends a request. The proxy is not asked, since it
would tunnel a program that refuses its certificate twice. Browsers cannot be tried without a window: their databases of
certificates are read, in NSS's form.
"""

import os
import re
import shutil
import socket
import sqlite3
import ssl
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.upkeep.finding import Finding
from bestbefore.addon.proxy.pages.ca_bundle import certificates
from bestbefore.addon.proxy.pages.pages import HOST

PATIENCE_S = 10.0
"""How long a program may take."""
CA_NAME, CA_KEY_NAMES = "mitmproxy-ca-cert.pem", ("mitmproxy-ca.pem", "mitmproxy-ca.p12")
_INSTALL = (
    f"`bestbefore run -- COMMAND` makes programs trust it; http://{HOST}/ through the proxy says how to install it"
)
_AS_ITS_USER = "run this as the user of the proxy, which must be able to read its files"
_REPLACE = "remove the files mitmproxy-ca* there and restart the proxy, which creates a new one"
_PYTHON = "import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=5).read()"
_NODE = "require('https').get(process.argv[1], r => r.resume()).on('error', () => process.exit(1))"
_CLIENTS: Mapping[str, tuple[str, ...]] = {
    "curl": ("curl", "-sS", "--noproxy", "*", "-o", os.devnull, "URL"),
    "wget": ("wget", "-q", "--no-proxy", "--tries=1", "-O", os.devnull, "URL"),
    "git": ("git", "-c", "http.proxy=", "ls-remote", "URL"),
    "python3": ("python3", "-c", _PYTHON, "URL"),
    "node": ("node", "-e", _NODE, "URL"),
}
"""How each program requests a URL without a proxy; those of this machine are tried."""
_BROWSERS = {
    "firefox": (".mozilla/firefox/*/cert9.db", "snap/firefox/common/.mozilla/firefox/*/cert9.db"),
    "chromium": (".pki/nssdb/cert9.db",),
}
_JAVA_STORE = re.compile(r'-Djavax\.net\.ssl\.trustStore=([^"\s]+|[^"]+(?="))')


def client_findings(state: Path, clock: Clock) -> Iterator[Finding]:
    """Yield the findings on the authority in a state folder, and on each client of this machine."""
    ca = state / CA_NAME
    try:
        found = certificates(ca.read_bytes())
        der = ssl.PEM_cert_to_DER_cert(found[0].decode("ascii"))
    except FileNotFoundError:
        yield Finding("ca", "skipped", f"{ca}: the first proxy creates it")
        return
    except (OSError, ValueError, IndexError) as error:
        why = getattr(error, "strerror", None) or "contains no certificate"
        # Clients trust the authority: it is replaced only where it is lost.
        advice = _AS_ITS_USER if isinstance(error, PermissionError) else _REPLACE
        yield Finding("ca", "failed", f"{ca}: {why}", advice)
        return
    yield from _ca_findings(state, der, clock)
    yield from _tried(state)
    yield from _java(der)
    yield from _browsers(der, Path("~").expanduser())


def _ca_findings(state: Path, der: bytes, clock: Clock) -> Iterator[Finding]:
    from cryptography import x509  # it takes 0.1 s

    try:
        ends_s = x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()
    except ValueError as error:
        yield Finding("ca", "failed", f"{state / CA_NAME}: {error}", _REPLACE)
        return
    open_to = [name for name in CA_KEY_NAMES if _is_open(state / name)]
    if ends_s <= clock.now():
        yield Finding("ca", "failed", "the authority has expired", _REPLACE)
    elif open_to:
        advice = f"chmod 600 {state}/mitmproxy-ca*, or replace the authority if others may have read it"
        yield Finding("ca", "failed", f"its key can be read by other users: {', '.join(open_to)}", advice)
    else:
        yield Finding("ca", "ok", f"{state / CA_NAME}")


def _is_open(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except OSError:
        return False


class _Server:
    """A server on loopback with a certificate by the proxy's authority; it records whether a request came."""

    def __init__(self, state: Path) -> None:
        """Raises OSError or ValueError if the authority's key cannot be used."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.x509 import DNSName
        from mitmproxy.certs import CertStore

        entry = CertStore.from_store(state, "mitmproxy", 2048).get_cert("localhost", [DNSName("localhost")], None)
        key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as leaf:  # a file of this user alone
            leaf.write(entry.cert.to_pem() + key)
            leaf.flush()
            self._context.load_cert_chain(leaf.name)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self._socket.getsockname()[1]}/"
        self.asked = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            accepted.settimeout(PATIENCE_S)
            with accepted, suppress(OSError), self._context.wrap_socket(accepted, server_side=True) as connection:
                if connection.recv(65536):
                    self.asked.set()
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def _tried(state: Path) -> Iterator[Finding]:
    if not all((state / name).exists() for name in CA_KEY_NAMES[:1]):
        yield Finding("clients", "skipped", f"{state / CA_KEY_NAMES[0]} is missing", "run this on the proxy's machine")
        return
    try:
        server = _Server(state)
    except (OSError, ValueError) as error:
        advice = "run this as the user of the proxy"
        yield Finding("clients", "skipped", f"the authority's key cannot be used: {error}", advice)
        return
    environment = dict(os.environ) | {"no_proxy": "*", "NO_PROXY": "*", "GIT_TERMINAL_PROMPT": "0"}
    with server:
        for name, words in _CLIENTS.items():
            program = shutil.which(name)
            if program is None:
                continue
            server.asked.clear()
            line = [program, *(server.url if word == "URL" else word for word in words[1:])]
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(  # noqa: S603 - the words are ours
                    line, env=environment, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            yield _client(name, trusts=server.asked.is_set())


def _client(name: str, *, trusts: bool) -> Finding:
    if trusts:
        return Finding(f"client:{name}", "ok", "trusts the proxy's certificate authority")
    return Finding(f"client:{name}", "warning", "refuses certificates of the proxy", _INSTALL)


def _java(der: bytes) -> Iterator[Finding]:
    keytool = shutil.which("keytool")
    if keytool is None or shutil.which("java") is None:
        return
    given = _JAVA_STORE.search(os.environ.get("JAVA_TOOL_OPTIONS", ""))
    where = ["-cacerts"] if given is None else ["-keystore", given[1]]
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    try:
        listed = subprocess.run(  # noqa: S603 - the words are ours
            [keytool, "-list", *where, "-storepass", "changeit", "-rfc"], env=environment, timeout=3 * PATIENCE_S,
            capture_output=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return
    trusted = {ssl.PEM_cert_to_DER_cert(one.decode("ascii")) for one in certificates(listed.stdout)}
    yield _client("java", trusts=der in trusted)


def _browsers(der: bytes, home: Path) -> Iterator[Finding]:
    for name, patterns in _BROWSERS.items():
        databases = [path for pattern in patterns for path in sorted(home.glob(pattern))]
        found = [has for has in (_has(path, der) for path in databases) if has is not None]
        if found:
            yield _client(name, trusts=all(found))


def _has(database: Path, der: bytes) -> bool | None:
    """Whether an NSS database has a certificate; None if it cannot be read."""
    try:
        with _reading(database) as connection:
            # a11 is CKA_VALUE (PKCS #11), of a certificate its DER.
            return connection.execute("SELECT 1 FROM nssPublic WHERE a11 = ?", (der,)).fetchone() is not None
    except sqlite3.Error:
        return None


@contextmanager
def _reading(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=1.0)) as connection:
        yield connection
