"""mitmproxy's own connections follow the trust of the configuration (`live/origins/test_origin_tls` makes them)."""

from OpenSSL import SSL

from bestbefore.addon.proxy.mitm.origin_tls import apply_trust
from bestbefore.addon.rules import Trust


def test_the_context_that_connections_share_stays_as_it_is() -> None:
    shared = SSL.Context(SSL.TLS_CLIENT_METHOD)
    shared.set_verify(SSL.VERIFY_PEER, None)
    one, other = SSL.Connection(shared), SSL.Connection(shared)
    apply_trust(one, Trust(verify=False))
    apply_trust(other, Trust())
    assert (one.get_verify_mode(), other.get_verify_mode()) == (SSL.VERIFY_NONE, SSL.VERIFY_PEER)
    assert shared.get_verify_mode() == SSL.VERIFY_PEER
