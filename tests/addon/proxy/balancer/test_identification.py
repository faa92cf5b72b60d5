"""The identification of clients behind a load balancer."""

import asyncio
import ipaddress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import ctx
from mitmproxy.connection import Client
from mitmproxy.proxy.mode_specs import ProxyMode

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.access.access import is_loopback, is_restricted
from bestbefore.addon.proxy.balancer.identification import identify

NETWORKS = (ipaddress.ip_network("127.0.0.0/8"),)
SETTINGS = Settings(state=Path("/nowhere"), proxy_protocol_from=NETWORKS, head_timeout=0.05)


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a connection from an address, on which data has come, and its reader."""
    open_clients = dict[str, Any]()
    addons = SimpleNamespace(get=lambda _name: SimpleNamespace(connections=open_clients))
    monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)

    def made(data: bytes, *, peer: str = "127.0.0.1", ends: bool = False) -> tuple[Client, asyncio.StreamReader]:
        client = Client(peername=(peer, 1), sockname=("127.0.0.1", 2), proxy_mode=ProxyMode.parse("regular"))
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        if ends:
            reader.feed_eof()
        open_clients[client.id] = SimpleNamespace(transports={client: SimpleNamespace(reader=reader, writer=None)})
        return client, reader

    return made


async def test_the_client_has_the_address_that_the_balancer_states(connect: Any) -> None:
    client, reader = connect(b"PROXY TCP4 192.0.2.7 127.0.0.1 4711 8080\r\nGET ", peer="::ffff:127.0.0.1")
    assert await identify(client, SETTINGS)
    assert client.peername == ("192.0.2.7", 4711)
    assert await reader.read(9) == b"GET "


@pytest.mark.parametrize("header", [
    b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n", b"PROXY TCP6 ::1 ::1 1 2\r\n",
    b"PROXY TCP6 ::ffff:127.0.0.1 ::1 1 2\r\n", b"PROXY UNKNOWN\r\n", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
])  # fmt: skip
async def test_nothing_that_a_balancer_states_is_of_this_machine(connect: Any, header: bytes) -> None:
    client, _ = connect(header)
    assert not is_restricted(client)
    assert await identify(client, SETTINGS)
    assert client.peername[0] in ("127.0.0.1", "::1")
    assert not is_loopback(client.peername[0])
    assert is_restricted(client)


@pytest.mark.parametrize(("data", "ends", "line"), [
    (b"GET / HTTP/1.1\r\n\r\n", False, "127.0.0.1 is refused: no header of the PROXY protocol: there is none"),
    (b"PROXY TC", False, "it is not complete after 0.05 s"),
    (b"PROXY TC", True, "the connection ended within it"),
    (b"", True, ""),
])  # fmt: skip
async def test_from_a_balancer_the_header_is_required(
    connect: Any, data: bytes, ends: bool, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    client, _ = connect(data, ends=ends)
    assert not await identify(client, SETTINGS)
    assert client.error
    assert line in caplog.text
    assert bool(line) == bool(caplog.text)


async def test_from_other_addresses_nothing_is_read(connect: Any) -> None:
    header = b"PROXY TCP4 127.0.0.1 127.0.0.1 4711 8080\r\n"
    for settings, peer in ((SETTINGS, "192.0.2.1"), (replace(SETTINGS, proxy_protocol_from=()), "127.0.0.1")):
        client, reader = connect(header, peer=peer)
        assert await identify(client, settings)
        assert client.peername == (peer, 1)
        assert await reader.read(100) == header
