"""What needs attention is said in full sentences that are true, the most pressing first."""

from bestbefore.addon.admin.counts.failing_origins import OriginFailure
from bestbefore.addon.dashboard.pages.overview import notices
from bestbefore.addon.proxy.tunnels.listing import Tunnelled
from bestbefore.addon.reports.figures import figures
from bestbefore.addon.reports.stale import StaleShare

WELL = {"store": "ok", "connections": "ok"}


def tunnelled(client: str, host: str) -> Tunnelled:
    return Tunnelled(client=client, user="", program="p", host=host, since_s=0.0, until_s=1.0, reason="")


def test_nothing_needs_attention_if_all_is_well() -> None:
    assert list(notices(WELL, figures([]), {}, [], (), 0, offline=False, refused=False)) == []


def test_hosts_are_named_as_far_as_there_is_room() -> None:
    down = {f"{name}.example": OriginFailure(1.0, 2.0, 1, "origin-unreachable") for name in "abcde"}
    tunnels = [tunnelled("192.0.2.1", "x.example"), tunnelled("192.0.2.1", "y.example")]
    shares = (StaleShare("g.example", 0.01, 500, 0.1, 0.05, 0.2), StaleShare("h.example", 0.01, 500, 0.1, 0.005, 0.2))
    health = {"store": "down"}
    found = notices(health, figures([]), down, tunnels, shares, 1, offline=True, refused=True)
    assert [one.text for one in found] == [
        "The store is down: nothing is written, and only memory serves.",
        "The proxy is offline: it contacts no origin, and serves every stored copy.",
        "The changed configuration file is refused; the one before is in force.",
        "5 origins are down: a.example, b.example, c.example and 2 more.",
        "One watched object could not be fetched.",
        "One client refuses the proxy's certificate: what comes from x.example, y.example is not cached for it.",
        "g.example: more stale hits than the 1 % that are wanted.",
    ]
