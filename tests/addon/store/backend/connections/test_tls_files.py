"""The files that the URL of a store names for TLS."""

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from mitmproxy.certs import CertStore

from bestbefore.addon.store.backend.connections.addresses import parse_address
from bestbefore.addon.store.backend.connections.tls_files import CERTIFICATES, CHAIN, check_tls_files
from bestbefore.addon.store.backend.interface import StoreInputError


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate, keys, and what is neither."""
    folder = tmp_path_factory.mktemp("tls")
    entry = CertStore.from_store(folder, "made", 2048).get_cert("store.test", [], None)
    (folder / "certificate.pem").write_bytes(entry.cert.to_pem())
    for name, encryption in (("key.pem", NoEncryption()), ("locked.pem", BestAvailableEncryption(b"secret"))):
        key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, encryption)
        (folder / name).write_bytes(key)
    (folder / "text").write_text("no certificate\n")
    (folder / "empty").write_text("")
    return folder


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ssl_ca_certs": "missing"}, f"ssl_ca_certs=FOLDER/missing: No such file or directory: {CERTIFICATES}"),
        ({"ssl_ca_certs": "."}, f"ssl_ca_certs=FOLDER/.: Is a directory: {CERTIFICATES}"),
        ({"ssl_ca_certs": "text"}, f"ssl_ca_certs=FOLDER/text: no certificate or crl found: {CERTIFICATES}"),
        ({"ssl_ca_certs": "empty"}, f": {CERTIFICATES}"),
        ({"ssl_ca_path": "missing"}, "ssl_ca_path=FOLDER/missing: No such file or directory: expected a folder"),
        ({"ssl_ca_path": "text"}, "ssl_ca_path=FOLDER/text: Not a directory: expected a folder"),
        ({"ssl_certfile": "missing"}, f"ssl_certfile=FOLDER/missing: No such file or directory: {CHAIN}"),
        ({"ssl_certfile": "certificate.pem"}, f"ssl_certfile=FOLDER/certificate.pem: unusable: {CHAIN}"),
        ({"ssl_certfile": "certificate.pem", "ssl_keyfile": "missing"}, "ssl_keyfile=FOLDER/missing: No such file"),
        ({"ssl_certfile": "certificate.pem", "ssl_keyfile": "locked.pem"}, CHAIN),
        ({"ssl_keyfile": "key.pem"}, "ssl_keyfile=FOLDER/key.pem: expected its certificate as ssl_certfile"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_was_expected(
    files: Path, options: dict[str, str], says: str
) -> None:
    named = {key: f"{files}/{name}" for key, name in options.items()}
    with pytest.raises(ValueError, match=re.escape(says.replace("FOLDER", str(files)))):
        check_tls_files(named)


def test_what_can_be_read_is_taken(files: Path) -> None:
    check_tls_files({})
    check_tls_files({"ssl_ca_certs": f"{files}/certificate.pem", "ssl_ca_path": str(files)})
    pair = {"ssl_certfile": f"{files}/certificate.pem", "ssl_keyfile": f"{files}/key.pem"}
    check_tls_files(pair)
    check_tls_files(pair | {"ssl_keyfile": f"{files}/locked.pem", "ssl_password": "secret"})


@pytest.mark.parametrize("url", ["rediss://a", "rediss+cluster://a,b", "rediss+sentinel://a,b/main"])
def test_the_url_of_any_store_is_refused_with_a_file_that_is_missing(url: str, files: Path) -> None:
    with pytest.raises(StoreInputError, match=f"^store '{re.escape(url)}.*ssl_ca_certs={files}/missing: No such file"):
        parse_address(f"{url}?ssl_ca_certs={files}/missing")
    assert parse_address(f"{url}?ssl_ca_certs={files}/certificate.pem").urls
