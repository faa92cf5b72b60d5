"""No byte of one client reaches another, whatever origins answer: broken endings among thousands of clients."""

import asyncio
import itertools
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any

import pytest
from asyncio_servers import end

pytestmark = pytest.mark.live

type Start = Callable[..., Any]

CLIENTS = 5000
FEW_CLIENTS = 640
"""With the fast tests; the others with the slow ones."""
AT_ONCE = 64
REQUESTS_EACH = 10
"""On one connection."""
ORIGINS_AT_ONCE = 16
CLIENTS_OF_ORIGINS = AT_ONCE * REQUESTS_EACH
"""After so many it is the turn of others: connections to one that brought a surplus are used once only, so that there
is nothing more to be found with it."""
TOO_LATE_S = 0.15
"""When this machine is so busy that a surplus would come later than this, it does not come: of an origin that says
something else a quarter of a second later, nobody can tell that it was not asked."""
PATIENCE_S = 30.0

ENDS = ("204", "304", "HEAD", "length", "chunked")
AFTER = (
    *(
        ("whole", 0.0),
        ("whole", 0.005),
        ("whole", 0.02),
        ("whole", 0.05),
        ("whole", 0.1),
        ("part", 0.0),
        ("part", 0.02),
    ),
    *(("garbage", 0.0), ("garbage", 0.005), ("lines", 0.02), ("again", 0.0), ("again", 0.05), ("content", 0.1)),
)
ENDINGS = tuple((end, surplus, late_s) for end, (surplus, late_s) in itertools.product(ENDS, AFTER))
assert len(ENDINGS) == 65


def whole(name: str, *, more: str = "") -> bytes:
    """A well-formed answer that bears a name."""
    content = f"<{name}>"
    return f"HTTP/1.1 200 OK\r\nX-Name: {name}\r\n{more}Content-Length: {len(content)}\r\n\r\n{content}".encode()


def broken(end: str, surplus: str, name: str) -> tuple[bytes, bytes]:
    """An answer that bears a name, and what comes after it."""
    content = f"<{name}>".encode()
    head = f"HTTP/1.1 {end if end.isdigit() else '200'} OK\r\nX-Name: {name}\r\nCache-Control: max-age=60\r\n".encode()
    answer = {
        "204": head + b"\r\n",
        "304": head + b"\r\n",
        "HEAD": head + b"Content-Length: %d\r\n\r\n" % len(content),
        "length": head + b"Content-Length: %d\r\n\r\n%s" % (len(content), content),
        "chunked": head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(content), content),
    }[end]
    stolen = whole(f"surplus-of-{name}", more="Cache-Control: max-age=600\r\n")
    after = {
        "whole": stolen,
        "part": stolen[:-9],
        "garbage": b"surplus-of-" + name.encode(),
        "lines": b"\r\n\r\n" + stolen,
        "again": answer,
        "content": content,
    }[surplus]
    return answer, after


class Origin(asyncio.Protocol):
    """Answers /broken/N/NAME with the Nth ending, and all else with the name in its path, cookie and content."""

    def __init__(self) -> None:
        self._received = b""
        self._busy = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._next()

    def _next(self) -> None:
        head, end, rest = self._received.partition(b"\r\n\r\n")
        assert self._transport is not None
        if self._busy or not end or self._transport.is_closing():
            return
        told = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        length = int(told[1]) if told is not None else 0
        if len(rest) < length:
            return
        content, self._received = rest[:length], rest[length:]
        method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
        kind, *names = path.removeprefix("/").split("/")
        if kind == "broken":
            answer, surplus = broken(*ENDINGS[int(names[0])][:2], names[1])
            self._with_surplus(answer, surplus, ENDINGS[int(names[0])][2])
            return
        cookie = re.search(rb"(?i)\r\ncookie: *([^\r]*)", head)
        name = ",".join((names[0], cookie[1].decode() if cookie is not None else "", content.decode("latin-1")))
        more = "Cache-Control: public, max-age=600\r\n" if kind == "shared" else "Cache-Control: private\r\n"
        answer = whole(name, more=more)
        self._transport.write(answer.partition(b"<")[0] if method == "HEAD" else answer)
        self._next()

    def _with_surplus(self, answer: bytes, surplus: bytes, late_s: float) -> None:
        assert self._transport is not None
        if late_s == 0.0:
            self._transport.write(answer + surplus)
            return
        self._transport.write(answer)
        # Whoever uses the connection meanwhile gets what is late before its own.
        self._busy = True
        loop = asyncio.get_running_loop()
        due_s = loop.time()

        def say() -> None:
            assert self._transport is not None
            self._busy = False
            if loop.time() - due_s > TOO_LATE_S:
                self._transport.close()
            elif not self._transport.is_closing():
                self._transport.write(surplus)
            self._next()

        loop.call_later(late_s, say)


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """An origin while it serves; its authority."""
    connections: list[Origin] = []

    def connected() -> Origin:
        connections.append(Origin())
        return connections[-1]

    server = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0, backlog=512)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await end(server, connections)


@dataclass(frozen=True)
class Got:
    status: int
    head: str
    content: str


class Client:
    """One connection to the proxy."""

    def __init__(self, port: int, authority: str) -> None:
        self._port, self._authority = port, authority
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, *lines: str, method: str = "GET", content: str = "") -> Got:
        """The answer; afterwards the connection may be used again."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        framed = [f"Content-Length: {len(content)}"] if content else []
        head = (
            f"{method} http://{self._authority}{path} HTTP/1.1",
            f"Host: {self._authority}",
            *lines,
            *framed,
            "",
            content,
        )
        writer.write("\r\n".join(head).encode())
        try:
            got = await asyncio.wait_for(self._read(reader, method), PATIENCE_S)
        except (OSError, EOFError):
            self.close()
            return Got(0, "", "")
        if "connection: close" in got.head.lower():
            self.close()
        return got

    async def _read(self, reader: asyncio.StreamReader, method: str) -> Got:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = int(head.split(" ")[1])
        length = re.search(r"(?i)\r\ncontent-length: *(\d+)", head)
        if method == "HEAD" or status in (204, 304):
            return Got(status, head, "")
        if length is not None:
            return Got(status, head, (await reader.readexactly(int(length[1]))).decode("latin-1"))
        content = b""
        while size := int((await reader.readline()).partition(b";")[0], 16):
            content += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return Got(status, head, content.decode("latin-1"))

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def names_in(got: Got) -> set[str]:
    """All names that an answer bears."""
    return set(re.findall(r"client-\d+|shared-\d+|surplus-of", got.head + got.content))


async def one_client(client: Client, number: int, rng: random.Random, wrong: list[str]) -> None:
    """A request with a name of its own, and what is wrong with its answer."""
    name, way = f"client-{number}", rng.random()
    if way < 0.4:
        ending = number % len(ENDINGS)
        method = "HEAD" if ENDINGS[ending][0] == "HEAD" else "GET"
        path, own = f"/broken/{ending}/{name}", {name}
        got = await client.ask(path, f"Cookie: {name}", method=method)
    elif way < 0.7:
        path, own = f"/page/{name}", {name}
        got = await client.ask(path, f"Cookie: {name}")
    elif way < 0.85:
        path, own = f"/page/{name}", {name}
        got = await client.ask(path, f"Cookie: {name}", method="POST", content=name)
    else:
        path = f"/shared/shared-{number % 50}"
        own = {f"shared-{number % 50}"}
        got = await client.ask(path)
    crossed = names_in(got) - own
    if crossed or (got.status == 200 and not names_in(got)):
        wrong.append(f"{path} got {sorted(crossed)}: {got}")


@pytest.mark.parametrize(
    "clients",
    [range(FEW_CLIENTS), pytest.param(range(FEW_CLIENTS, CLIENTS), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
async def test_no_client_gets_what_is_another_s_after_65_broken_endings(start_proxy: Start, clients: range) -> None:
    proxy = await asyncio.to_thread(start_proxy, "--quiet")
    wrong: list[str] = []
    numbers = iter(clients)
    async with AsyncExitStack() as stack:
        turns = -(-clients.stop // CLIENTS_OF_ORIGINS)
        authorities = [await stack.enter_async_context(serving()) for _ in range(turns * ORIGINS_AT_ONCE)]

        async def work() -> None:
            for first in numbers:
                turn = first // CLIENTS_OF_ORIGINS
                origin = turn * ORIGINS_AT_ONCE + first // REQUESTS_EACH % ORIGINS_AT_ONCE
                with closing(Client(proxy.port, authorities[origin])) as client:
                    for number in (first, *itertools.islice(numbers, REQUESTS_EACH - 1)):
                        await one_client(client, number, random.Random(number), wrong)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        assert not wrong, f"{len(wrong)} of {len(clients)}; first: {wrong[:3]}"

        # Afterwards all is served right, from the store and from the origin.
        with closing(Client(proxy.port, authorities[0])) as client:
            for number in range(50):
                got = await client.ask(f"/shared/shared-{number}")
                assert (got.status, names_in(got)) == (200, {f"shared-{number}"})
            for number in clients[::50]:
                name = f"client-{number}"
                got = await client.ask(f"/page/{name}", f"Cookie: {name}")
                assert (got.status, names_in(got)) == (200, {name})
                got = await client.ask(f"/broken/{number % len(ENDINGS)}/{name}", f"Cookie: {name}")
                assert names_in(got) <= {name}, "nothing is stored under another's name"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("surplus", "late_s"), AFTER)
async def test_a_surplus_is_no_answer(shared_proxy: Any, end: str, surplus: str, late_s: float) -> None:
    """One ending, and those who ask next: at once, and when what was late is there."""
    ending = ENDINGS.index((end, surplus, late_s))
    async with serving() as authority:
        with (
            closing(Client(shared_proxy.port, authority)) as first,
            closing(Client(shared_proxy.port, authority)) as second,
        ):
            method = "HEAD" if end == "HEAD" else "GET"
            got = await first.ask(f"/broken/{ending}/client-1", method=method)
            assert names_in(got) <= {"client-1"}
            for wait_s in (0.0, late_s + 0.02):
                await asyncio.sleep(wait_s)
                for path in ("/page/client-2", "/page/client-3"):
                    got = await second.ask(path, f"Cookie: {path[6:]}")
                    assert (got.status, names_in(got)) == (200, {path[6:]}), got
