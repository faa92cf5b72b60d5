"""Whom a connection to an origin trusts."""

import ssl
from pathlib import Path

from mitmproxy.certs import CertStore

from bestbefore.addon.proxy.origin.tls import tls_context
from bestbefore.addon.rules import OriginCa, Trust


def test_authorities_are_trusted_besides_the_roots(tmp_path: Path) -> None:
    CertStore.from_store(tmp_path, "mine", 2048)
    file = tmp_path / "mine-ca-cert.pem"
    roots = tls_context(None, True, Trust()).get_ca_certs()
    context = tls_context(None, True, Trust(OriginCa(str(file), file.read_text())))
    assert len(context.get_ca_certs()) == len(roots) + 1
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.check_hostname


def test_either_switch_ends_verification() -> None:
    for general, own in ((False, True), (True, False)):
        assert tls_context(None, general, Trust(verify=own)).verify_mode is ssl.CERT_NONE
