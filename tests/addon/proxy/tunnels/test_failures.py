"""The response to a client that gets no tunnel."""

import pytest

from bestbefore.addon.proxy.tunnels.failures import BARRED, TOO_MANY, tunnel_failure, upgrade_failure

UNTRUSTED = "Certificate verify failed: unable to get local issuer certificate"
OLD = "OpenSSL Error([('SSL routines', '', 'unsupported protocol')])"


@pytest.mark.parametrize(
    ("error", "status", "reason", "message"),
    [
        (TOO_MANY, 503, "origin-unreachable", TOO_MANY),
        (f"Connection killed: {BARRED}", 403, "not-allowed", BARRED),
        ("[Errno 111] Connect call failed ('::1', 1)", 502, "origin-unreachable", "a refuses connections to port 1"),
        ("Multiple exceptions: [Errno 111] Connect", 502, "origin-unreachable", "a refuses connections to port 1"),
        ("[Errno -2] Name or service not known", 502, "origin-unreachable", "no address is known for the name a"),
        (UNTRUSTED, 502, "origin-tls", "the certificate of a comes from an authority that this machine does not trust"),
        ("Certificate verify failed: odd", 502, "origin-tls", "the certificate of a cannot be verified"),
        ("The remote server does not speak TLS.", 502, "origin-tls", "a does not speak TLS on this port"),
        (OLD, 502, "origin-tls", "a speaks only old versions of TLS"),
        (None, 502, "origin-unreachable", "a cannot be reached"),
    ],
)
def test_the_failure_follows_from_the_error_and_says_nothing_of_mitmproxys(
    error: str | None, status: int, reason: str, message: str
) -> None:
    assert tunnel_failure(error, "a", 1)[:3] == (status, reason, message)


def test_a_connection_without_a_response_was_closed_or_sent_something_else() -> None:
    assert upgrade_failure("server closed connection").reason == "origin-reset"
    assert upgrade_failure("Cannot parse HTTP response: x").reason == "origin-malformed"
