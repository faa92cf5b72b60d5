"""An origin whose content is fresh for an hour, of the size that the path begins with, in KB."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.certs import CertStore


class Constant(BaseHTTPRequestHandler):
    """Asked once for each URL."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer `/10/page` with 10 KB."""
        size = 1024 * int(self.path.split("/")[1])
        self.send_response(200)
        for name, value in {"Content-Length": str(size), "ETag": '"1"', "Cache-Control": "max-age=3600"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"x" * size)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def certificate(folder: Path) -> Path:
    """A certificate for localhost with its key, in one file."""
    entry = CertStore.from_store(folder, "origin", 2048).get_cert("localhost", [x509.DNSName("localhost")], None)
    leaf = folder / "leaf.pem"
    key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    leaf.write_bytes(entry.cert.to_pem() + key)
    return leaf


def started_origin(leaf: Path | None = None) -> int:
    """The port of an origin, over TLS with a certificate."""
    origin = ThreadingHTTPServer(("127.0.0.1", 0), Constant)
    if leaf is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(leaf)
        origin.socket = context.wrap_socket(origin.socket, server_side=True)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    return origin.server_port
