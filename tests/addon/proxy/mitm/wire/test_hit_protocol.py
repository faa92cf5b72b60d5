"""What reaches the reader of a real socket, and what is answered before."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from bestbefore.addon.proxy.mitm.wire.hit_protocol import HitProtocol
from bestbefore.addon.proxy.mitm.wire.internals import ClientSocket
from bestbefore.addon.proxy.mitm.wire.socket_exchange import SocketExchange
from bestbefore.addon.proxy.mitm.wire.written import AtSocket, Written

PATIENCE_S = 30.0


class Server:
    """Answers each `hit` at its beginning with `HIT`; a task reads the rest, and answers it in small letters."""

    def __init__(self) -> None:
        self.finished = 0
        self.activities = 0
        self.read = list[bytes]()
        self.busy = asyncio.Event()
        self.busy.set()
        self.began, self.eof = asyncio.Event(), asyncio.Event()

    def answer(self, data: bytes) -> Written | None:
        n = len(data[: len(data) - len(data.removeprefix(b"hit"))]) // 3
        if not n:
            return None
        return Written(b"HIT", 3, closes=False, finish=self.finish)

    def finish(self) -> None:
        self.finished += 1

    def active(self) -> None:
        self.activities += 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport = writer.transport
        assert isinstance(transport, asyncio.Transport)
        handler = SimpleNamespace(timeout_watchdog=SimpleNamespace(register_activity=self.active))
        inner = transport.get_protocol()
        assert isinstance(inner, asyncio.Protocol)
        answers = AtSocket(self.answer, lambda: None)
        transport.set_protocol(HitProtocol(ClientSocket(transport, reader, handler), inner, answers, SocketExchange))
        while data := await reader.read(100):
            self.read.append(data)
            self.began.set()
            await self.busy.wait()
            writer.write(data.lower())
            await writer.drain()
        self.eof.set()
        writer.close()


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Server, asyncio.StreamReader, asyncio.StreamWriter]]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname()[:2])
        yield server, reader, writer
        writer.close()
        await asyncio.wait_for(server.eof.wait(), PATIENCE_S)


async def test_a_hit_is_answered_before_the_reader_gets_it() -> None:
    async with connected() as (server, reader, writer):
        for _ in range(2):
            writer.write(b"hit")
            assert await reader.readexactly(3) == b"HIT"
        assert (server.read, server.finished, server.activities) == ([], 2, 2)


async def test_the_rest_goes_on_to_the_reader() -> None:
    async with connected() as (server, reader, writer):
        writer.write(b"hitREST")
        assert await reader.readexactly(7) == b"HITrest"
        assert server.read == [b"REST"]


async def test_nothing_overtakes_what_is_being_answered() -> None:
    async with connected() as (server, reader, writer):
        server.busy.clear()
        writer.write(b"SLOW")
        await asyncio.wait_for(server.began.wait(), PATIENCE_S)
        writer.write(b"hit")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.02)
        server.busy.set()
        assert await reader.readexactly(7) == b"slowhit"
        assert server.finished == 0


async def test_the_end_of_the_connection_reaches_the_reader() -> None:
    async with connected() as (server, _, writer):
        writer.write_eof()
        await asyncio.wait_for(server.eof.wait(), PATIENCE_S)
