"""Who is let in for as long as a connection lasts."""

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
