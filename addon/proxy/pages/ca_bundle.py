"""The CA bundle for clients of the proxy: the system's root certificates and the proxy's own.

A tool that replaces the system's roots by one file (curl --cacert, SSL_CERT_FILE) needs both: the proxy's for
intercepted hosts, the system's for tunnelled ones.
"""

import re
import ssl
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

import certifi

BUNDLE_NAME = "ca-bundle.pem"

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----\s[\sA-Za-z0-9+/=]+-----END CERTIFICATE-----")


def certificates(pem: bytes) -> list[bytes]:
    """Return the certificates in a PEM file, in order and without duplicates, comments and private keys."""
    return list(dict.fromkeys(block.replace(b"\r\n", b"\n") for block in _CERTIFICATE.findall(pem)))


def write_ca_bundle(state: Path, ca_pem: bytes) -> Path:
    """Write STATE/ca-bundle.pem, the system's roots and the proxy's certificate; return its path.

    The file is replaced atomically, so that clients never read a part of it. Raises OSError.
    """
    path = state / BUNDLE_NAME
    ours = certificates(ca_pem)
    bundle = list(dict.fromkeys([*_system_roots(path), *ours]))
    with NamedTemporaryFile(dir=state, prefix=BUNDLE_NAME, delete=False) as file:
        written = Path(file.name)
        try:
            file.write(b"\n".join(bundle) + b"\n")
            file.flush()
            written.chmod(0o644)
            written.replace(path)
        except OSError:
            written.unlink()
            raise
    return path


def _system_roots(bundle: Path) -> list[bytes]:
    """Return the roots from the first source that has any: OpenSSL's file, its folder, the package certifi.

    SSL_CERT_FILE, which OpenSSL obeys, may name the proxy's own bundle, as its certificate page advises; that is
    skipped.
    """
    places = ssl.get_default_verify_paths()
    file = [] if places.cafile is None or Path(places.cafile).resolve() == bundle.resolve() else [Path(places.cafile)]
    folder = [] if places.capath is None else sorted(Path(places.capath).iterdir())
    for paths in (file, folder, [Path(certifi.where())]):
        found = certificates(b"\n".join(_readable(paths)))
        if found:
            return found
    return []


def _readable(paths: Iterable[Path]) -> Iterable[bytes]:
    for path in paths:
        try:
            yield path.read_bytes()
        except OSError:  # a dangling link, a subfolder
            continue
