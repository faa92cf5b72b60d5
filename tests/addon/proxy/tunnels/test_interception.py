"""What a handshake shows."""

import logging

import pytest

from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.mitm.client_tls import AFTER_HANDSHAKE
from bestbefore.addon.proxy.tunnels.interception import Interception, reason_of
from bestbefore.addon.proxy.tunnels.refusals import ClientKey, Refusals
from bestbefore.addon.store_status import StoreStatus

CLIENT = ClientKey("192.0.2.1", "", "a")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("The client does not trust the proxy's certificate for a (tlsv1 alert unknown ca)", "does not know"),
        ("The client does not trust the proxy's certificate for a (ssl/tls alert bad certificate)", "not accept"),
        ("The client disconnected during the handshake. If this", "closed"),
        ("connection closed early", "closed"),
        (AFTER_HANDSHAKE, "ended TLS after the handshake"),
        ("OpenSSL Error([('SSL routines', '', 'no shared cipher')])", "the handshake failed"),
        ("OpenSSL Error([('SSL routines', '', 'unsupported protocol')])", "old versions of TLS"),
    ],
)
def test_why_a_handshake_failed_is_said_in_our_words(error: str, reason: str) -> None:
    assert reason in reason_of(error)


def test_two_failures_are_a_tunnel_and_a_request_lifts_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    metrics = Metrics(lambda: StoreStatus(*[None] * 13))  # type: ignore[arg-type]
    interception = Interception(Refusals(), metrics, ManualClock(0.0))
    for connection in "ab":
        assert not interception.is_tunnelled(connection, CLIENT, "bank.example")
        interception.failed(connection, "connection closed")
    interception.failed("b", "counted once")
    assert interception.is_tunnelled("c", CLIENT, "bank.example")
    assert "192.0.2.1 refuses our certificate for bank.example" in caplog.text
    assert not interception.is_tunnelled("d", CLIENT, "other.example")
    interception.accepted("d")
    assert not interception.is_tunnelled("e", CLIENT, "bank.example")
    interception.closed("e")
    interception.failed("e", "too late")
    counters = [metrics.client_handshakes.labels(result) for result in ("failed", "tunnelled", "accepted")]
    counters.append(metrics.tunnels_lifted.labels("handshake"))
    assert [sample.value for counter in counters for sample in counter.collect()[0].samples[:1]] == [2, 1, 1, 1]
