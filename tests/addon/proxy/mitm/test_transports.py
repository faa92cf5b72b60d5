"""The sockets under mitmproxy's connections."""

import asyncio
import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

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


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """mitmproxy's handlers by the id of the client."""
    found = dict[str, Any]()
    addons = SimpleNamespace(get=lambda _name: SimpleNamespace(connections=found))
    monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)
    return found


@pytest.fixture
async def sockets() -> AsyncIterator[list[tuple[asyncio.StreamWriter, socket.socket]]]:
    """Three connections: asyncio's side and the peer's."""
    made = []
    for _ in range(3):
        ours, peer = socket.socketpair()
        made.append(((await asyncio.open_connection(sock=ours))[1], peer))
    yield made
    for writer, peer in made:
        writer.close()
        peer.close()


def handled(
    handlers: dict[str, Any], writer: object, active_s: float, *, busy: bool = False, origin: bool = False
) -> Any:
    """A client whose connection mitmproxy serves; `origin`: it has one to an origin, too."""
    client = tflow.tclient_conn()
    connections = {client: SimpleNamespace(writer=writer)}
    if origin:
        connections[tflow.tserver_conn()] = SimpleNamespace(writer=None)
    handlers[client.id] = SimpleNamespace(
        client=client,
        transports=connections,
        timeout_watchdog=SimpleNamespace(last_activity=active_s, blocker=int(busy)),
    )
    return client


async def test_the_connection_that_was_idle_longest_is_closed(
    handlers: dict[str, Any], sockets: list[tuple[asyncio.StreamWriter, socket.socket]]
) -> None:
    writers = [writer for writer, _ in sockets]
    for writer, active_s in zip(writers, (2.0, 1.0, 10.0), strict=True):
        handled(handlers, writer, active_s)
    assert transports.client_count() == 3
    assert transports.close_idle()
    assert [writer.is_closing() for writer in writers] == [False, True, False]


@pytest.mark.parametrize(
    "kept", [{"active_s": 95.001}, {"active_s": 1.0, "busy": True}, {"active_s": 1.0, "origin": True}]
)
async def test_a_connection_in_use_is_not_closed(
    handlers: dict[str, Any], sockets: list[tuple[asyncio.StreamWriter, socket.socket]], kept: dict[str, Any]
) -> None:
    handled(handlers, sockets[0][0], 100.0)
    handled(handlers, sockets[1][0], **kept)
    assert not transports.close_idle()
    assert not any(writer.is_closing() for writer, _ in sockets)


async def test_a_client_is_sent_data_and_its_reading_paused_and_resumed(
    handlers: dict[str, Any], sockets: list[tuple[asyncio.StreamWriter, socket.socket]]
) -> None:
    writer, peer = sockets[0]
    client = handled(handlers, writer, 0.0)
    transports.send(client, b"refused")
    await transports.drained(client)
    assert peer.recv(100) == b"refused"
    transport: Any = transports.transport_of(client, client)
    assert transport is writer.transport
    for on in (False, True):
        transports.set_reading(client, client, on=on)
        assert transport.is_reading() is on


async def test_of_a_client_that_is_gone_nothing_is_done(handlers: dict[str, Any]) -> None:
    client, datagram = tflow.tclient_conn(), handled(handlers, SimpleNamespace(transport=None), 0.0)
    for one in (client, datagram):
        transports.set_reading(one, one, on=False)
        assert transports.transport_of(one, one) is None
    transports.send(client, b"lost")
    await transports.drained(client)


async def test_the_connections_of_chosen_clients_are_closed(
    handlers: dict[str, Any], sockets: list[tuple[asyncio.StreamWriter, socket.socket]]
) -> None:
    clients = [handled(handlers, writer, 0.0, busy=True) for writer, _ in sockets]
    transports.close_all(lambda client: client is clients[1])
    assert [writer.is_closing() for writer, _ in sockets] == [False, True, False]
