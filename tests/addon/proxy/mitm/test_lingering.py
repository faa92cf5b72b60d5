"""Connections that are let go of."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.proxy.mitm import lingering, transports
from bestbefore.addon.proxy.mitm.lingering import Lingering

PATIENCE_S = 30.0


@pytest.fixture
async def transport() -> AsyncIterator[tuple[asyncio.Transport, socket.socket]]:
    """asyncio's side of a connection, and a peer that takes nothing."""
    ours, peer = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=ours)
    made = writer.transport
    assert isinstance(made, asyncio.Transport)
    yield made, peer
    made.abort()
    peer.close()


def opened(monkeypatch: pytest.MonkeyPatch, transport: asyncio.Transport) -> tuple[Lingering, Any]:
    made, client = Lingering(), tflow.tclient_conn()
    monkeypatch.setattr(transports, "transport_of", lambda *_: transport)
    monkeypatch.setattr(lingering, "LINGER_S", 0.05)
    made.opened(client, client)
    return made, client


async def test_what_is_not_taken_is_dropped_after_a_while(
    monkeypatch: pytest.MonkeyPatch, transport: tuple[asyncio.Transport, socket.socket]
) -> None:
    ours, _ = transport
    ours.write(bytes(10 << 20))
    made, client = opened(monkeypatch, ours)
    made.closed(client)
    made.closed(client)
    assert ours.get_write_buffer_size()
    await asyncio.sleep(0.2)
    assert not ours.get_write_buffer_size()


async def test_what_is_taken_is_sent_to_its_end(
    monkeypatch: pytest.MonkeyPatch, transport: tuple[asyncio.Transport, socket.socket]
) -> None:
    ours, peer = transport
    ours.write(b"the end")
    made, client = opened(monkeypatch, ours)
    made.closed(client)
    await asyncio.sleep(0)
    peer.settimeout(PATIENCE_S)
    assert await asyncio.to_thread(peer.recv, 100) == b"the end"
    assert await asyncio.to_thread(peer.recv, 100) == b""


def test_what_is_not_known_is_passed_over() -> None:
    Lingering().closed(tflow.tclient_conn())


async def test_what_a_peer_has_not_taken_is_unsent(
    monkeypatch: pytest.MonkeyPatch, transport: tuple[asyncio.Transport, socket.socket]
) -> None:
    ours, _ = transport
    lingers, _ = opened(monkeypatch, ours)
    assert not lingers.has_unsent
    ours.write(bytes(10_000_000))
    assert lingers.has_unsent
