"""How connections to origins are made."""

import asyncio
import socket
from functools import partial

import pytest

from bestbefore.addon.config.settings import Server
from bestbefore.addon.proxy.access.reach import EVERYWHERE, PUBLIC
from bestbefore.addon.proxy.origin.connecting import Connector
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.tls import tls_context
from bestbefore.addon.rules import Trust


def connector(parent: Server | None = None) -> Connector:
    return Connector(partial(tls_context, None, True), lambda _: Trust(), parent)


async def test_a_name_is_looked_at_again_at_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["93.184.216.34", "127.0.0.1"])
    looked_up: list[str] = []

    def resolved(host: str, port: int, *args: object, **more: object) -> list[tuple[object, ...]]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    made = connector()
    assert [entry[4][0] for entry in await made.addresses("changing.example", 80, PUBLIC)] == ["93.184.216.34"]
    with pytest.raises(OSError, match="an address of this machine"):
        await made.addresses("changing.example", 80, PUBLIC)
    assert looked_up == ["changing.example"] * 2


async def test_an_origin_that_refuses_connections_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(OriginError) as error:
        await connector().connect("http", "127.0.0.1", port, EVERYWHERE, 1.0)
    assert error.value.failure is Failure.UNREACHABLE


async def test_an_origin_without_tls_has_a_failure_of_its_own() -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with pytest.raises(OriginError) as error:
        await connector().connect("https", "127.0.0.1", server.sockets[0].getsockname()[1], EVERYWHERE, 2.0)
    assert error.value.failure in (Failure.TLS, Failure.UNREACHABLE)
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "answers 403"),
        (b"HTTP/1.1 200 OK\r\n\r\nsmuggled", "before the tunnel"),
        (b"nonsense\r\n\r\n", "could not be read"),
        (b"", "closed the connection early"),
    ],
)
async def test_a_parent_that_opens_no_tunnel_is_no_way(answer: bytes, why: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head == b"CONNECT origin.example:443 HTTP/1.1\r\nHost: origin.example:443\r\n\r\n"
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    parent = Server("http", "127.0.0.1", server.sockets[0].getsockname()[1])
    with pytest.raises(OriginError, match=why):
        await connector(parent).connect("https", "origin.example", 443, EVERYWHERE, 2.0)
    server.close()
    await server.wait_closed()


async def test_a_connection_that_takes_too_long_is_given_up() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with pytest.raises(OriginError) as error:
        await connector().connect("https", "127.0.0.1", server.sockets[0].getsockname()[1], EVERYWHERE, 0.2)
    assert error.value.failure is Failure.TIMEOUT
    server.close()
    await server.wait_closed()


async def test_what_asyncio_cannot_do_is_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object, **__: object) -> socket.socket:
        raise RuntimeError("File descriptor 9 is used by transport")

    monkeypatch.setattr("bestbefore.addon.proxy.origin.connecting.start_connection", fails)
    with pytest.raises(OriginError) as error:
        await connector().connect("http", "127.0.0.1", 1, EVERYWHERE, 1.0)
    assert error.value.failure is Failure.UNREACHABLE
