"""The proxy's CA bundle as a trust store for Java, which reads no PEM files."""

import hashlib
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from bestbefore.addon.commands.run_environment import TRUST_STORE_PASSWORD


def java_trust_store(bundle: bytes, folder: Path) -> Path:
    """Return the file in the folder with the certificates of a bundle, which is written if it is not there.

    Its name has the digest of the bundle. Raises OSError, and ValueError if a certificate cannot be read.
    """
    path = folder / f"{hashlib.sha256(bundle).hexdigest()[:32]}.p12"
    if path.exists():
        return path
    loaded = x509.load_pem_x509_certificates(bundle)
    named = [pkcs12.PKCS12Certificate(one, str(number).encode()) for number, one in enumerate(loaded)]
    content = pkcs12.serialize_java_truststore(named, BestAvailableEncryption(TRUST_STORE_PASSWORD.encode()))
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)  # noqa: PTH105
    return path
