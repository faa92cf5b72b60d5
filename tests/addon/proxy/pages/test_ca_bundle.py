import ssl
import stat
from pathlib import Path

import certifi
import pytest

from bestbefore.addon.proxy.pages.ca_bundle import certificates, write_ca_bundle

CERTIFI = Path(certifi.where()).read_bytes()
FIRST, SECOND, *_ = certificates(CERTIFI)
KEY = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the system's roots; OpenSSL's own variables point into it."""
    folder = tmp_path / "system"
    folder.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "roots.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(folder / "certs"))
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def test_the_certificates_of_a_file_are_found_between_comments_and_keys() -> None:
    pem = b"# one\n" + FIRST + b"\n" + KEY + SECOND.replace(b"\n", b"\r\n") + b"\r\n" + FIRST
    assert certificates(pem) == [FIRST, SECOND]


def test_the_bundle_is_the_systems_roots_and_ours(system: Path, state: Path) -> None:
    (system / "roots.pem").write_bytes(FIRST + b"\n")
    path = write_ca_bundle(state, SECOND + b"\n" + KEY)
    assert path == state / "ca-bundle.pem"
    assert path.read_bytes() == FIRST + b"\n" + SECOND + b"\n"


def test_openssl_reads_the_bundle(state: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(write_ca_bundle(state, FIRST))
    assert ssl.PEM_cert_to_DER_cert(FIRST.decode()) in context.get_ca_certs(binary_form=True)


def test_a_system_with_a_folder_of_roots_only_has_them_read(system: Path, state: Path) -> None:
    folder = system / "certs"
    folder.mkdir()
    (folder / "a.pem").write_bytes(FIRST)
    (folder / "0a1b2c3d.0").symlink_to(folder / "a.pem")
    (folder / "dangling").symlink_to(folder / "none")
    (folder / "sub").mkdir()
    assert certificates(write_ca_bundle(state, SECOND).read_bytes()) == [FIRST, SECOND]


def test_a_system_without_roots_has_those_of_certifi(system: Path, state: Path) -> None:
    assert certificates(write_ca_bundle(state, b"").read_bytes()) == certificates(CERTIFI)


def test_our_own_bundle_is_no_source_of_roots(system: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate page advises to export SSL_CERT_FILE, and the proxy may be started from that shell."""
    path = state / "ca-bundle.pem"
    path.write_bytes(FIRST)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    write_ca_bundle(state, SECOND)
    assert certificates(path.read_bytes()) == certificates(CERTIFI)


def test_everybody_may_read_it_and_nothing_else_is_left(state: Path) -> None:
    path = write_ca_bundle(state, FIRST)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(state.iterdir()) == [path]


def test_a_state_folder_that_is_missing_is_an_operating_system_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_ca_bundle(tmp_path / "none", FIRST)
