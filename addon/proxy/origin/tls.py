"""TLS contexts for connections to origins."""

import ssl

import certifi

from bestbefore.addon.rules import Trust


def tls_context(ca_file: str | None, verify: bool, trust: Trust) -> ssl.SSLContext:
    """Return the context that verifies origins by the roots in a file, or by the system's, and by those of `trust`."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file:
        context.load_verify_locations(ca_file)
    elif not context.get_ca_certs() and ssl.get_default_verify_paths().cafile is None:
        context.load_verify_locations(certifi.where())
    if trust.ca is not None:
        context.load_verify_locations(cadata=trust.ca.pem)
        # Private authorities often lack extensions that Python demands by default from 3.13 on, and curl does not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not (verify and trust.verify):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
