"""Certificates of every kind that a client should accept or refuse."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Issuer:
    """An authority, which issues certificates."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = _named(name)
        self._key = generate_private_key(SECP256R1())
        self._folder = folder
        made = _made(self._name, self._name, self._key, (0, 30)).add_extension(x509.BasicConstraints(True, None), True)
        self.pem = made.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    def issue(
        self, host: str = "localhost", *, valid_d: tuple[int, int] = (-1, 30), itself: bool = False, crl: bool = False
    ) -> Path:
        """Write a certificate and its key, valid from and to so many days from now.

        `itself`: signed by itself and not by this authority; `crl`: names a list of revoked certificates.
        """
        key, subject = generate_private_key(SECP256R1()), _named(host)
        made = _made(subject, subject if itself else self._name, key, valid_d)
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), False)
        if crl:
            at = x509.DistributionPoint([x509.UniformResourceIdentifier("http://127.0.0.1:1/crl")], None, None, None)
            made = made.add_extension(x509.CRLDistributionPoints([at]), False)
        signed = made.sign(key if itself else self._key, SHA256())
        path = self._folder / f"{signed.serial_number}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(signed.public_bytes(Encoding.PEM) + private)
        return path


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _made(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, valid_d: tuple[int, int]
) -> x509.CertificateBuilder:
    begins, ends = (datetime.now(UTC) + timedelta(days=days, minutes=-5) for days in valid_d)
    return x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), begins, ends)
