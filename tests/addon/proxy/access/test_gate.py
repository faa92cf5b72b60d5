"""Who is let in for as long as a connection lasts."""

from pathlib import Path

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.mitm.hooks import BestBefore
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Fields


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
