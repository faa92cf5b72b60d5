"""The proxy's CA bundle as a trust store for Java, which reads no PEM files."""

import warnings
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.utils import CryptographyDeprecationWarning

from bestbefore.addon.commands.clients.kept_files import kept_file
from bestbefore.addon.commands.clients.run_environment import TRUST_STORE_PASSWORD


def java_trust_store(bundle: bytes, folder: Path) -> Path:
    """Return the file in the folder with the certificates of a bundle, which is written if it is not there.

    Raises OSError, and ValueError if a certificate cannot be read.
    """
    return kept_file(folder, bundle, ".p12", lambda: _store_of(bundle))


def _store_of(bundle: bytes) -> bytes:
    with warnings.catch_warnings():  # systems have old roots whose serial number is 0
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        loaded = x509.load_pem_x509_certificates(bundle)
    named = [pkcs12.PKCS12Certificate(one, str(number).encode()) for number, one in enumerate(loaded)]
    return pkcs12.serialize_java_truststore(named, BestAvailableEncryption(TRUST_STORE_PASSWORD.encode()))
