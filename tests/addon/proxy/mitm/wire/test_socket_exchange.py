"""Requests that are no hits, answered at a real socket: framed, in order, no faster than the client reads."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.stream.sending import WHOLE_BYTES
from bestbefore.addon.proxy.mitm.wire.hit_protocol import HELD_BYTES, HitProtocol
from bestbefore.addon.proxy.mitm.wire.internals import ClientSocket
from bestbefore.addon.proxy.mitm.wire.socket_exchange import SocketExchange
from bestbefore.addon.proxy.mitm.wire.written import AtSocket, Unanswered, Written
from bestbefore.addon.rfc9111.message import Fields, Head
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway
from tests.addon.store.waiting import until

SIZED = Fields([("Content-Length", "4")])
READ_BYTES = 256 * 1024
"""What asyncio reads at most at once."""
LARGE = bytes(2 * WHOLE_BYTES)


async def two_pieces() -> AsyncGenerator[bytes]:
    yield b"ab"
    yield b""
    yield b"cd"


async def broken() -> AsyncGenerator[bytes]:
    yield b"ab"
    raise ConnectionError


class Server(FixedGateway):
    """Answers each line: `hit` at once, what is in `answers` when `go` is set; a reader gets the rest."""

    def __init__(self, make: Callable[[], Answer]) -> None:
        self.make = make
        self.go = asyncio.Event()
        self.interim = list[Head]()
        self.ends = list[tuple[int, bool]]()
        self.read, self.eof = list[bytes](), asyncio.Event()
        self.waiting = 0
        self.data = b""
        self.is_early, self.done = False, asyncio.Event()
        """Whether each answer is ready before all is done for it, and what is awaited then."""
        self.accepted = list[bool]()
        """Whether each request that was read before could be asked for."""
        self.instead: Answer | None = None
        """Another answer than the one that was ready."""

    def hits(self, data: bytes) -> Written | None:
        self.data = data
        if not data.startswith(b"hit\n"):
            return None
        self.data = data[4:]
        return Written(b"HIT ", 4, False, lambda: None)

    def unanswered(self) -> Unanswered | None:
        pending: Any = SimpleNamespace(context=SimpleNamespace())
        return Unanswered(pending, 5) if self.data.startswith(b"miss\n") else None

    async def answer(self, pending: Any, interim: Any, _upload: Any) -> Answer:
        self.waiting += 1
        for head in self.interim:
            interim(head)
        await self.go.wait()
        answer = self.make()
        answer.sent = lambda *end: self.ends.append(end)
        if self.is_early:
            pending.context.ready(answer)
            await self.done.wait()
        return self.instead or answer

    async def drained(self, _: Any) -> None:
        await self.writer.drain()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        transport: Any = writer.transport
        watchdog = SimpleNamespace(register_activity=lambda: None, disarm=nullcontext)
        socket = ClientSocket(transport, reader, SimpleNamespace(timeout_watchdog=watchdog))
        transport.set_protocol(
            HitProtocol(
                socket,
                transport.get_protocol(),
                AtSocket(self.hits, self.unanswered),
                lambda _: SocketExchange(self, None, socket, "GET", bytes),  # type: ignore[arg-type]
            )
        )
        protocol: Any = transport.get_protocol()
        while data := await reader.read(1000):
            if data.startswith(b"ask"):
                pending: Any = SimpleNamespace(context=SimpleNamespace())
                self.accepted.append(protocol.ask(pending))
                continue
            self.read.append(data)
        self.eof.set()
        writer.close()


type Served = tuple[Server, asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def served(make: Callable[[], Answer]) -> AsyncIterator[Served]:
    server = Server(make)
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname()[:2])
        try:
            yield server, reader, writer
        finally:
            writer.close()


@pytest.mark.parametrize(
    ("make", "response"),
    [
        (lambda: Answer(Head(200, SIZED, "OK"), b"abcd"), b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"),
        (lambda: Answer(Head(200, SIZED), chunks=two_pieces()), b"HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nabcd"),
        (
            lambda: Answer(Head(200), chunks=two_pieces()),
            b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
        ),
        (lambda: Answer(Head(304)), b"HTTP/1.1 304 \r\n\r\n"),
    ],
    ids=["in memory", "in pieces", "of unknown length", "without content"],
)
async def test_responses_are_sent_in_order_and_what_follows_waits(make: Callable[[], Answer], response: bytes) -> None:
    async with served(make) as (server, reader, writer):
        server.interim = [Head(103, Fields([("Link", "x")]))]
        writer.write(b"hit\nmiss\nhit\nmi")
        assert await reader.readexactly(4) == b"HIT "
        early = b"HTTP/1.1 103 \r\nLink: x\r\n\r\n"
        assert await reader.readexactly(len(early)) == early
        writer.write(b"ss\nunknown")
        server.go.set()
        server.interim = []
        expected = response + b"HIT "
        assert await reader.readexactly(len(expected)) == expected
        assert await reader.readexactly(len(response)) == response
        writer.write_eof()
        await server.eof.wait()
        assert b"".join(server.read) == b"unknown"
        assert [complete for _, complete in server.ends] == [True, True]


async def test_a_response_that_is_ready_is_sent_and_what_follows_waits_until_all_is_done() -> None:
    async with served(lambda: Answer(Head(200, SIZED), b"abcd")) as (server, reader, writer):
        server.is_early = True
        server.go.set()
        writer.write(b"miss\nmiss\nhit\n")
        response = b"HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nabcd"
        assert await reader.readexactly(len(response)) == response
        assert (server.waiting, server.ends) == (1, [])
        server.done.set()
        assert await reader.readexactly(len(response) + 4) == response + b"HIT "
        assert server.ends == [(4, True)] * 2


@pytest.mark.parametrize(
    "make",
    [lambda: Answer(Head(200, SIZED), chunks=two_pieces()), lambda: Answer(Head(400, SIZED), b"abcd")],
    ids=["in pieces", "a refusal"],
)
async def test_some_responses_are_not_sent_before_all_is_done(make: Callable[[], Answer]) -> None:
    async with served(make) as (server, reader, writer):
        server.is_early = True
        server.go.set()
        writer.write(b"miss\n")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await reader.read(1)
        server.done.set()
        assert await reader.readexactly(12) in (b"HTTP/1.1 200", b"HTTP/1.1 400")


async def test_a_fault_after_a_response_was_sent_ends_the_connection() -> None:
    async with served(lambda: Answer(Head(200, SIZED), b"abcd")) as (server, reader, writer):
        server.is_early, server.instead = True, Answer(Head(500, SIZED), b"wxyz")
        server.go.set()
        server.done.set()
        writer.write(b"miss\nmiss\n")
        assert (await reader.read()).endswith(b"\r\n\r\nabcd")
        assert server.waiting == 1


async def test_a_request_that_was_read_already_is_answered_before_what_follows() -> None:
    async with served(lambda: Answer(Head(200, SIZED), b"abcd")) as (server, reader, writer):
        writer.write(b"ask")
        await until(lambda: server.waiting)
        writer.write(b"hit\nmiss\nunknown")
        server.go.set()
        response = b"HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nabcd"
        expected = response + b"HIT " + response
        assert await reader.readexactly(len(expected)) == expected
        writer.write_eof()
        await server.eof.wait()
        assert (server.accepted, server.read) == ([True], [b"unknown"])


async def test_a_request_behind_which_more_has_come_is_not_answered_so() -> None:
    async with served(lambda: Answer(Head(200, SIZED), b"abcd")) as (server, _reader, writer):
        writer.write(b"ask" + bytes(3000))  # of which the reader takes a part
        await until(lambda: server.accepted)
        writer.write_eof()
        await server.eof.wait()
        assert (server.accepted, server.waiting) == ([False], 0)


async def test_a_truncated_response_ends_the_connection() -> None:
    async with served(lambda: Answer(Head(200), chunks=broken())) as (server, reader, writer):
        server.go.set()
        writer.write(b"miss\nhit\n")
        assert (await reader.read()).endswith(b"2\r\nab\r\n")
        assert server.ends == [(2, False)]


async def test_a_refusal_ends_the_connection() -> None:
    async with served(lambda: Answer(Head(400, SIZED), b"abcd")) as (server, reader, writer):
        server.go.set()
        writer.write(b"miss\nhit\n")
        assert (await reader.read()).endswith(b"Connection: close\r\n\r\nabcd")


async def test_a_client_that_leaves_gets_nothing_and_its_end_is_passed_on() -> None:
    async with served(lambda: Answer(Head(200), chunks=two_pieces())) as (server, reader, writer):
        writer.write(b"miss\n")
        await until(lambda: server.waiting)
        writer.write_eof()
        await asyncio.sleep(0.02)
        assert not server.eof.is_set()
        server.go.set()
        assert await reader.read() == b""
        assert server.ends == [(0, False)]


async def test_a_client_that_does_not_read_is_neither_sent_nor_read_much_more() -> None:
    async with served(lambda: Answer(Head(200, Fields([("Content-Length", str(len(LARGE)))])), LARGE)) as (
        server, _reader, writer,
    ):
        server.go.set()
        for _ in range(100):
            writer.write(b"miss\n" * (HELD_BYTES // 5))
        answered = -1
        while answered < server.waiting:  # until it goes on no more
            answered = server.waiting
            await asyncio.sleep(0.4)
        assert answered < 40  # what the sockets hold
        assert server.writer.transport.get_write_buffer_size() < 2 * WHOLE_BYTES
        protocol = server.writer.transport.get_protocol()
        assert isinstance(protocol, HitProtocol)
        assert len(protocol._held) <= HELD_BYTES + READ_BYTES
        writer.transport.abort()
        await until(lambda: len(server.ends) == server.waiting)
        assert server.waiting <= answered + 1
