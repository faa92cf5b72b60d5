"""The trust store for Java."""

import shutil
import subprocess
from pathlib import Path

import certifi
import pytest

from bestbefore.addon.commands.clients.trust_store import java_trust_store

BUNDLE = b"".join(part + b"-----END CERTIFICATE-----\n" for part in
                  Path(certifi.where()).read_bytes().split(b"-----END CERTIFICATE-----\n")[:3])


def test_it_is_written_once_for_a_bundle(tmp_path: Path) -> None:
    path = java_trust_store(BUNDLE, tmp_path / "cache")
    written = path.stat().st_mtime_ns
    assert java_trust_store(BUNDLE, tmp_path / "cache") == path
    assert path.stat().st_mtime_ns == written
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("keytool") is None, reason="no Java here")
def test_java_reads_its_certificates(tmp_path: Path) -> None:
    path = java_trust_store(BUNDLE, tmp_path)
    listed = subprocess.run(
        ["keytool", "-list", "-keystore", path, "-storepass", "changeit"], capture_output=True, text=True, check=True
    )
    assert listed.stdout.count("trustedCertEntry") == 3


def test_a_bundle_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - cryptography's message
        java_trust_store(b"-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n", tmp_path)
