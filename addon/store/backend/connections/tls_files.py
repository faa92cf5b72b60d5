"""The files that the URL of a store names for TLS, read before it is connected to.

Redis-py reads them at each connect, where one that is missing looks like a server that does not answer.
"""

import os
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

CERTIFICATES = "expected a file of certificates in PEM"
CHAIN = "expected files in PEM: a certificate, and its key there or in ssl_keyfile"


def check_tls_files(options: Mapping[str, Any]) -> None:
    """Raise ValueError for an option of a URL whose files cannot be used: which, why, and what was expected.

    `options`: as redis-py has parsed them.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authorities := options.get("ssl_ca_certs"):
        _try(f"ssl_ca_certs={authorities}", partial(context.load_verify_locations, authorities), CERTIFICATES)
    if folder := options.get("ssl_ca_path"):
        _try(f"ssl_ca_path={folder}", partial(os.listdir, folder), "expected a folder of certificates")
    certificate, key = options.get("ssl_certfile"), options.get("ssl_keyfile")
    if key and not certificate:
        raise ValueError(f"ssl_keyfile={key}: expected its certificate as ssl_certfile")
    if certificate:
        named = f"ssl_certfile={certificate}" + (f", ssl_keyfile={key}" if key else "")
        # Without a password OpenSSL would ask for one at the terminal.
        password = str(options.get("ssl_password", ""))
        _try(named, partial(context.load_cert_chain, certificate, key, password), CHAIN)


def _try(named: str, read: Callable[[], object], expected: str) -> None:
    try:
        read()
    except ssl.SSLError as error:
        reason = (error.reason or "unusable").lower().replace("_", " ")
        raise ValueError(f"{named}: {reason}: {expected}") from None
    except OSError as error:
        raise ValueError(f"{named}: {error.strerror}: {expected}") from None
