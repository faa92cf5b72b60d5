"""Why mitmproxy got no connection to an origin, for a client's tunnel or upgrade."""

from typing import NamedTuple

TOO_MANY = "too many connections to origins"
BARRED = "this client reaches no address of this machine"
"""The errors of connections that the proxy itself does not allow."""


class TunnelFailure(NamedTuple):
    """Status, reason and message of the response to a client that gets no tunnel."""

    status: int
    reason: str
    message: str


_UNREACHABLE = TunnelFailure(502, "origin-unreachable", "the server of this tunnel cannot be reached")
_OWN = {
    TOO_MANY: TunnelFailure(503, "origin-unreachable", TOO_MANY),
    BARRED: TunnelFailure(403, "not-allowed", BARRED),
}


def tunnel_failure(error: str | None) -> TunnelFailure:
    """Return what follows from the error of a connection; mitmproxy's own texts are not shown to clients."""
    return _OWN.get(error or "", _UNREACHABLE)
