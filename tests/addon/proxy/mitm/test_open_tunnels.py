"""Which connections of clients are tunnels."""

from mitmproxy.test import tflow

from bestbefore.addon.proxy.mitm.forwarded import ForwardedRequest
from bestbefore.addon.proxy.mitm.open_tunnels import OpenTunnel, OpenTunnels
from bestbefore.addon.rfc9111.message import Fields, Request, Target

CONNECT = ForwardedRequest(Request("CONNECT", Target("https", "bank.example", 443, ""), Fields()), 0.0, 0.0)


CLIENT = tflow.tclient_conn()


def test_a_tunnel_is_given_back_once_when_its_client_goes() -> None:
    tunnels = OpenTunnels()
    tunnels.asked(CLIENT, CONNECT)
    tunnels.tunnelled(CLIENT, "passthrough")
    assert tunnels.closed(CLIENT) == OpenTunnel(CONNECT, CLIENT, 200, "passthrough")
    assert tunnels.closed(CLIENT) is None


def test_an_intercepted_tunnel_is_none_but_a_connection_upgraded_in_it_is_one() -> None:
    tunnels = OpenTunnels()
    tunnels.asked(CLIENT, CONNECT)
    assert tunnels.closed(CLIENT) is None
    tunnels.asked(CLIENT, CONNECT)
    tunnels.upgraded(CLIENT, CONNECT, "upgrade")
    tunnels.failed(CLIENT, "origin-unreachable")  # another connection of this client
    assert tunnels.closed(CLIENT) == OpenTunnel(CONNECT, CLIENT, 101, "upgrade")


def test_a_raw_connection_to_a_reverse_proxy_is_no_tunnel() -> None:
    tunnels = OpenTunnels()
    tunnels.tunnelled(CLIENT, "tunnel")
    tunnels.failed(CLIENT, "origin-unreachable")
    assert tunnels.closed(CLIENT) is None


def test_a_tunnel_to_an_origin_that_cannot_be_reached_has_failed() -> None:
    tunnels = OpenTunnels()
    tunnels.asked(CLIENT, CONNECT)
    tunnels.tunnelled(CLIENT, "passthrough")
    tunnels.failed(CLIENT, "origin-unreachable")
    assert tunnels.closed(CLIENT) == OpenTunnel(CONNECT, CLIENT, 200, "origin-unreachable", failed=True)


def test_a_tunnel_whose_client_refuses_the_certificate_has_failed_without_a_contact() -> None:
    tunnels = OpenTunnels()
    tunnels.refused(CLIENT, "refused-certificate")
    assert tunnels.closed(CLIENT) is None, "a reverse proxy has no tunnels"
    tunnels.asked(CLIENT, CONNECT)
    tunnels.refused(CLIENT, "refused-certificate")
    ended = tunnels.closed(CLIENT)
    assert ended == OpenTunnel(CONNECT, CLIENT, 200, "refused-certificate", failed=True, contact=False)


def test_at_the_end_those_that_are_open_are_given_back_once() -> None:
    tunnels, other = OpenTunnels(), tflow.tclient_conn()
    tunnels.upgraded(CLIENT, CONNECT, "upgrade")
    tunnels.asked(other, CONNECT)
    assert [tunnel.client for tunnel in tunnels.end()] == [CLIENT]
    assert tunnels.end() == []
    assert tunnels.closed(CLIENT) is None
