"""What a client is told when it gets no tunnel."""

import pytest

from bestbefore.addon.proxy.tunnels.failures import BARRED, TOO_MANY, tunnel_failure


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (TOO_MANY, 503, "origin-unreachable"),
        (BARRED, 403, "not-allowed"),
        ("[Errno 111] Connect call failed ('192.0.2.7', 1)", 502, "origin-unreachable"),
        (None, 502, "origin-unreachable"),
    ],
)
def test_the_failure_follows_from_the_error_and_says_nothing_of_mitmproxys(
    error: str | None, status: int, reason: str
) -> None:
    failure = tunnel_failure(error)
    assert failure[:2] == (status, reason)
    assert "Errno" not in failure.message
