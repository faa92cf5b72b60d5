"""The sockets under mitmproxy's connections."""

import asyncio
import socket
from types import SimpleNamespace

import pytest
from mitmproxy import ctx
from mitmproxy.test import tflow

from bestbefore.addon.proxy.mitm import transports


@pytest.mark.parametrize("known", [True, False])
async def test_only_a_connection_that_mitmproxy_has_is_closed(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    ours, peer = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=ours)
    client = tflow.tclient_conn()
    handler = SimpleNamespace(transports={client: SimpleNamespace(writer=writer)} if known else {})
    proxyserver = SimpleNamespace(connections={client.id: handler})
    addons = SimpleNamespace(get=lambda _name: proxyserver)
    monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)
    transports.close(client, client)
    assert writer.is_closing() is known
    writer.close()
    peer.close()
