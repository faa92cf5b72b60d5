"""Who is let in for as long as a connection lasts."""

import ipaddress
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.mitm.hooks import BestBefore
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Fields, Request, Target

SITE = Site("bestbefore-1", b"salt", 1000)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """One that asks its clients for credentials."""
    (tmp_path / "users").write_text("user:password\n")
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\ncredentials = "users"\nadmin = "off"\n')
    return Service(ConfigWatch(config, {"state": str(tmp_path / "state")}), RealClock())


def test_a_tunnel_admits_its_connection_until_that_ends(service: Service) -> None:
    hooks, client, other = BestBefore(service), tflow.tclient_conn(), tflow.tclient_conn()
    for opened in (client, other):
        opened.peername = ("192.0.2.1", 1)
        assert not service.gate.admitted(opened, None)
        service.gate.tunnel_opened(opened, Fields([("via", "1.1 another")]))
        assert service.gate.admitted(opened, None)
    hooks.client_disconnected(client)
    assert not service.gate.admitted(client, None)
    assert service.gate.admitted(other, None)
    hooks.client_disconnected(client)
    hooks.client_disconnected(other)
    assert not service.gate._tunnels, "nothing is kept of connections that have ended"


def test_changed_settings_shut_out_clients_and_the_tunnels_of_users(service: Service, tmp_path: Path) -> None:
    clients = [tflow.tclient_conn() for _ in range(4)]
    for client, peer in zip(clients, ("192.0.2.1", "192.0.2.1", "198.51.100.1", "127.0.0.1"), strict=True):
        client.peername = (peer, 1)
        if client is not clients[0]:
            sent = f"Basic {b64encode(b'user:password').decode()}"
            service.gate.tunnel_opened(client, Fields([("Proxy-Authorization", sent)]))
    assert [service.gate.is_shut_out(client) for client in clients] == [False, False, False, False]

    (tmp_path / "users").write_text("user:another\n")
    service.gate.reconfigured(service.settings)
    assert [service.gate.is_shut_out(client) for client in clients] == [False, True, True, False]

    (tmp_path / "users").write_text("user:password\n")
    networks = (ipaddress.ip_network("192.0.2.0/24"),)
    service.gate.reconfigured(replace(service.settings, allow_clients=networks))
    assert [service.gate.is_shut_out(client) for client in clients] == [False, False, True, False]


def test_the_user_of_a_request_is_who_sent_valid_credentials_with_it_or_for_its_tunnel(service: Service) -> None:
    users = []
    for credentials in (b"user:password", b"user:wrong", b"eve:password"):
        client = tflow.tclient_conn()
        sent = [("Proxy-Authorization", f"Basic {b64encode(credentials).decode()}")]
        service.gate.tunnel_opened(client, Fields(sent))
        users.append(service.gate.user_of(client, Fields()))
        users.append(service.gate.user_of(tflow.tclient_conn(), Fields(sent)))
    assert users == ["user", "user", "", "", "", ""]
    assert service.gate.user_of(tflow.tclient_conn(), Fields()) == ""


@pytest.mark.parametrize(
    ("method", "url", "fields", "status"),
    [
        ("PURGE", "http://example.org/", (), 400),
        ("GET", "http://example.org/", (("Content-Length", "1"), ("Content-Length", "2")), 400),
        ("POST", "http://127.0.0.1:8080/", (), 403),
        ("POST", "http://bestbefore.test/", (), 403),
        ("POST", "http://example.org/", (("Via", "1.1 bestbefore-1"),), 508),
        ("CONNECT", "http://bestbefore.test/", (), None),
        ("POST", "http://example.org/", (), None),
    ],
)
def test_what_mitmproxy_would_forward_is_refused_with_a_status(
    service: Service, method: str, url: str, fields: tuple[tuple[str, str], ...], status: int | None
) -> None:
    service.gate.own_ports = frozenset({8080})
    client = tflow.tclient_conn()
    client.peername = ("127.0.0.1", 1)
    refusal = service.gate.refusal(Request(method, Target.parse(url), Fields(fields)), client, SITE)
    assert (None if refusal is None else refusal[0]) == status


def test_an_offline_proxy_forwards_nothing(service: Service) -> None:
    client = tflow.tclient_conn()
    client.peername = ("127.0.0.1", 1)
    refusal = service.gate.refusal(
        Request("POST", Target.parse("http://example.org/"), Fields()), client, replace(SITE, offline=True)
    )
    assert refusal is not None
    assert refusal[0] == 504
