"""Which connections of clients are tunnels."""

from bestbefore.addon.proxy.mitm.forwarded import ForwardedRequest
from bestbefore.addon.proxy.mitm.open_tunnels import OpenTunnel, OpenTunnels
from bestbefore.addon.rfc9111.message import Fields, Request, Target

CONNECT = ForwardedRequest(Request("CONNECT", Target("https", "bank.example", 443, ""), Fields()), 0.0, 0.0)


def test_a_tunnel_is_given_back_once_when_its_client_goes() -> None:
    tunnels = OpenTunnels()
    tunnels.asked("1", CONNECT)
    tunnels.tunnelled("1", "passthrough")
    assert tunnels.closed("1") == OpenTunnel(CONNECT, 200, "passthrough")
    assert tunnels.closed("1") is None


def test_an_intercepted_tunnel_is_none_but_a_connection_upgraded_in_it_is_one() -> None:
    tunnels = OpenTunnels()
    tunnels.asked("1", CONNECT)
    assert tunnels.closed("1") is None
    tunnels.asked("2", CONNECT)
    tunnels.upgraded("2", CONNECT, "upgrade")
    assert tunnels.closed("2") == OpenTunnel(CONNECT, 101, "upgrade")


def test_a_raw_connection_to_a_reverse_proxy_is_no_tunnel() -> None:
    tunnels = OpenTunnels()
    tunnels.tunnelled("1", "tunnel")
    assert tunnels.closed("1") is None
