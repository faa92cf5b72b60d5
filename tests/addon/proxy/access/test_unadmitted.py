"""A line a minute about clients that may not use the proxy."""

import ipaddress

import pytest

from bestbefore.addon.proxy.access.access import Access, StatedAddress
from bestbefore.addon.proxy.access.unadmitted import LOG_EVERY_S, Unadmitted

NETWORKS = [ipaddress.ip_network("192.0.2.0/24")]


def test_refusals_are_logged_at_once_and_then_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 1000.0
    unadmitted = Unadmitted(lambda: now_s)
    for i in range(100):
        reason = unadmitted.refused(f"203.0.113.{i}", Access(NETWORKS))
    assert reason == "203.0.113.99 is not in allow_clients"
    now_s += LOG_EVERY_S
    unadmitted.refused("203.0.113.100", Access(NETWORKS))
    now_s += LOG_EVERY_S
    unadmitted.refused("203.0.113.101", Access(NETWORKS))
    assert caplog.messages == [
        "203.0.113.0 is refused: it is not in allow_clients",
        "203.0.113.100 is refused: it is not in allow_clients; 99 more since the last such line",
        "203.0.113.101 is refused: it is not in allow_clients",
    ]


@pytest.mark.parametrize(
    ("address", "networks", "why"),
    [
        ("203.0.113.1", None, ", which is not set"),
        (StatedAddress("203.0.113.1"), NETWORKS, ""),
        (StatedAddress("127.0.0.1"), NETWORKS,
         " (a balancer in proxy_protocol_from states it, so that it is not taken for this machine)"),
        (StatedAddress("::1"), None,
         ", which is not set (a balancer in proxy_protocol_from states it, so that it is not taken for this machine)"),
    ],
)  # fmt: skip
def test_the_line_says_why(
    address: str, networks: list[ipaddress.IPv4Network] | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    Unadmitted(lambda: 0.0).refused(address, Access(networks))
    assert caplog.messages == [f"{address} is refused: it is not in allow_clients{why}"]
