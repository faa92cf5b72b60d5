"""Certificates of the origin, and what clients take for one."""

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.certs import CertStore

if TYPE_CHECKING:
    from collections.abc import Mapping


class Certificates:
    """An authority, and a certificate for localhost that it has signed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        entry = CertStore.from_store(folder, "origin", 2048).get_cert("localhost", [x509.DNSName("localhost")], None)
        key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        self.leaf_file = folder / "leaf.pem"
        self.leaf_file.write_bytes(entry.cert.to_pem() + key)
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(self.leaf_file)
        self.env: Mapping[str, str] = {"SSL_CERT_FILE": str(folder / "origin-ca-cert.pem")}
        """For a proxy that is to trust it."""


def client(way: str) -> ssl.SSLContext:
    """Of a client inside a tunnel, which trusts whom it meets."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"] if way == "h2" else ["http/1.1"])
    return context
