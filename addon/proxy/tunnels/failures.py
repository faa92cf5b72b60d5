"""Why mitmproxy got no connection to an origin, or no response, for a client's tunnel or upgrade."""

import re
from typing import NamedTuple

from bestbefore.addon.proxy.origin.connect_error import explain_handshake, explain_number, explain_verification
from bestbefore.addon.proxy.origin.contact import Failure

TOO_MANY = "too many connections to origins"
BARRED = "this client reaches no address of this machine"
"""The errors of connections that the proxy itself does not allow."""
_NUMBER = re.compile(r"\[Errno (-?\d+)\]")
_NOT_VERIFIED = "Certificate verify failed: "


class TunnelFailure(NamedTuple):
    """Status, reason and message of the response to a client that gets no tunnel or upgrade, and what it can do."""

    status: int
    reason: str
    message: str
    advice: str = ""


_OWN = {
    TOO_MANY: TunnelFailure(503, Failure.UNREACHABLE, TOO_MANY),
    BARRED: TunnelFailure(403, "not-allowed", BARRED),
}


def tunnel_failure(error: str | None, host: str, port: int) -> TunnelFailure:
    """Return what follows from the error of a connection; mitmproxy's own texts are not shown to clients."""
    text = (error or "").removeprefix("Connection killed: ")
    if text in _OWN:
        return _OWN[text]
    if text.startswith(_NOT_VERIFIED):
        return TunnelFailure(502, Failure.TLS, *explain_verification(text.removeprefix(_NOT_VERIFIED), host))
    if "TLS" in text or "SSL" in text:
        return TunnelFailure(502, Failure.TLS, *explain_handshake(text, host))
    number = _NUMBER.search(text)
    return TunnelFailure(502, Failure.UNREACHABLE, *explain_number(int(number[1]) if number else 0, host, port))


def upgrade_failure(error: str) -> TunnelFailure:
    """Return what follows from the error of a connection that was made, but brought no response."""
    failure = Failure.RESET if "closed" in error else Failure.MALFORMED
    return TunnelFailure(failure.status, failure, "")
