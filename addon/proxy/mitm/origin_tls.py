"""The trust of the configuration, applied to the TLS connections that mitmproxy makes itself, for upgrades."""

from cryptography import x509
from mitmproxy import ctx
from OpenSSL import SSL, crypto

from bestbefore.addon.rules import Trust


def apply_trust(connection: SSL.Connection, trust: Trust) -> None:
    """Let a connection that has not begun verify its server by `trust`."""
    if not trust.verify:
        connection.set_verify(SSL.VERIFY_NONE, None)
    elif trust.ca is not None:
        # The context that mitmproxy made is shared with other connections.
        roots, folder = ctx.options.ssl_verify_upstream_trusted_ca, ctx.options.ssl_verify_upstream_trusted_confdir
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        if roots or folder:
            context.load_verify_locations(roots, folder)
        store = context.get_cert_store()
        assert store is not None
        for certificate in x509.load_pem_x509_certificates(trust.ca.pem.encode("latin-1")):
            store.add_cert(crypto.X509.from_cryptography(certificate))
        connection.set_context(context)
