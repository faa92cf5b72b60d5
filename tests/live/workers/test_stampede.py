"""One fetch for many, on real sockets: the origin counts."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from test_workers import workers_of

pytestmark = pytest.mark.live

Start = Callable[..., Any]
CLIENTS = 50
PATIENCE_S = 60.0
DELAY_S = 0.5


class SlowOrigin:
    """Answers after a while, and counts its contacts and how many of them there were at once."""

    def __init__(self, *lines: str, body: bytes = b"x" * 100_000) -> None:
        self.lines = lines
        self.body = body
        self.delay_s = DELAY_S
        self.ready: Callable[[], Awaitable[object]] | None = None
        """What is waited for before each answer, in place of the delay."""
        self.contacts = self.under_way = self.at_once = 0
        self.url = ""
        self.started = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []

    def end(self) -> None:
        """Close what the proxy keeps open."""
        for writer in self.writers:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.contacts += 1
                self.under_way += 1
                self.at_once = max(self.at_once, self.under_way)
                self.started.set()
                await (asyncio.sleep(self.delay_s) if self.ready is None else self.ready())
                self.under_way -= 1
                current = b'If-None-Match: "1"' in head
                status = "304 Not Modified" if current else "200 OK"
                fields = list(self.lines) + ([] if current else [f"Content-Length: {len(self.body)}"])
                writer.write("\r\n".join((f"HTTP/1.1 {status}", *fields, "", "")).encode())
                if not current:
                    writer.write(self.body[:50_000])
                    await writer.drain()
                    await asyncio.sleep(0.05)
                    writer.write(self.body[50_000:])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


class SlowContent(SlowOrigin):
    """Sends each piece of chunked content when the test says so; None: closes the connection in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                self.contacts += 1
                writer.write(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
                piece: bytes | None = b"-"
                while piece:
                    piece = await self.pieces.get()
                    writer.write(b"" if piece is None else b"%x\r\n%s\r\n" % (len(piece), piece))
                if piece is None:
                    break
        writer.close()


@asynccontextmanager
async def serving[O: SlowOrigin](origin: O) -> AsyncIterator[O]:
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0, backlog=1024)
    origin.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield origin
    finally:
        server.close()
        origin.end()
        await server.wait_closed()


async def get(proxy: Any, url: str, *lines: str) -> tuple[bytes, bytes]:
    """Head and content of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    host = url.split("/")[2]
    writer.write("\r\n".join((f"GET {url} HTTP/1.1", f"Host: {host}", "Connection: close", *lines, "", "")).encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


class AllHaveAsked:
    """Called, it waits until the proxy has had so many requests at once, and has looked them up in the next second."""

    def __init__(self, proxy: Any, requests: int) -> None:
        self._proxy, self._requests = proxy, requests
        self._waiting: asyncio.Future[None] | None = None

    async def __call__(self) -> None:
        if self._waiting is None:
            self._waiting = asyncio.ensure_future(self._wait())
        await asyncio.shield(self._waiting)

    async def _wait(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await self._in_progress() < self._requests:  # noqa: ASYNC110 - the proxy sends no event
                await asyncio.sleep(0.02)
        await asyncio.sleep(1.0)

    async def _in_progress(self) -> float:
        found: float = await asyncio.to_thread(self._proxy.metric, "bestbefore_requests_in_progress")
        return found


async def all_at_once(n: int, ask: Callable[[], Awaitable[tuple[bytes, bytes]]]) -> list[tuple[bytes, bytes]]:
    return await asyncio.gather(*(ask() for _ in range(n)))


@pytest.mark.parametrize("clients", [CLIENTS, pytest.param(500, marks=pytest.mark.slow)])
async def test_many_who_miss_the_same_object_cause_one_contact(clients: int, shared_proxy: Any) -> None:
    async with serving(SlowOrigin('ETag: "1"', "Cache-Control: max-age=60")) as origin:
        answers = await all_at_once(clients, lambda: get(shared_proxy, origin.url + "/"))
        assert origin.contacts == 1, Counter(line for head, _ in answers for line in head.split(b"\r\n"))
        assert all(body == origin.body for _, body in answers)
        # The last of many may come when it has arrived: those are hits.
        assert sum(b"; collapsed" in head or b"; hit" in head for head, _ in answers) == clients - 1


async def test_a_validation_is_collapsed_likewise(shared_proxy: Any) -> None:
    async with serving(SlowOrigin('ETag: "1"', "Cache-Control: max-age=0")) as origin:
        await get(shared_proxy, origin.url + "/")
        origin.ready = AllHaveAsked(shared_proxy, CLIENTS)
        answers = await all_at_once(CLIENTS, lambda: get(shared_proxy, origin.url + "/"))
        assert origin.contacts == 2
        assert all(body == origin.body for _, body in answers)


async def test_who_waited_for_what_cannot_be_shared_is_released_at_once(shared_proxy: Any) -> None:
    async with serving(SlowOrigin("Cache-Control: no-store")) as origin:

        async def together() -> None:
            """The first contact is answered alone; the others when there are several."""
            while origin.contacts > 1 and origin.at_once <= 5:  # noqa: ASYNC110 - each is an event
                await asyncio.sleep(0.01)
            await asyncio.sleep(DELAY_S)

        origin.ready = together
        async with asyncio.timeout(PATIENCE_S):  # they come together, not one after the other
            answers = await all_at_once(CLIENTS, lambda: get(shared_proxy, origin.url + "/"))
        assert origin.contacts == CLIENTS
        assert all(body == origin.body for _, body in answers)


async def test_requests_do_not_wait_again_for_what_could_not_be_shared(shared_proxy: Any) -> None:
    async with serving(SlowOrigin("Cache-Control: private")) as origin, asyncio.timeout(PATIENCE_S):
        origin.delay_s = 0.0
        await get(shared_proxy, origin.url + "/")
        origin.ready = asyncio.Barrier(6).wait  # as many as are sent: without them the origin answers none
        for _ in range(2):
            answers = await all_at_once(6, lambda: get(shared_proxy, origin.url + "/"))
            assert all(body == origin.body for _, body in answers)
        assert origin.contacts == 13


async def test_an_api_is_learnt_from_one_query(shared_proxy: Any) -> None:
    async with serving(SlowOrigin("Cache-Control: no-store")) as origin, asyncio.timeout(PATIENCE_S):
        origin.delay_s = 0.0
        await get(shared_proxy, origin.url + "/api?q=1")
        origin.ready = asyncio.Barrier(6).wait
        for query in ("?q=2", "?q=3"):
            await all_at_once(6, lambda query=query: get(shared_proxy, origin.url + "/api" + query))
        assert origin.contacts == 13


async def test_a_client_that_goes_away_does_not_break_the_others(shared_proxy: Any) -> None:
    async with serving(SlowOrigin('ETag: "1"', "Cache-Control: max-age=60")) as origin:
        _, first = await asyncio.open_connection("127.0.0.1", shared_proxy.port)
        first.write(f"GET {origin.url}/ HTTP/1.1\r\nHost: {origin.url[7:]}\r\n\r\n".encode())
        await origin.started.wait()
        others = asyncio.gather(*(get(shared_proxy, origin.url + "/") for _ in range(5)))
        first.transport.abort()
        assert all(body == origin.body for _, body in await others)
        assert origin.contacts == 1


async def asking(proxy: Any, origin: SlowOrigin) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(f"GET {origin.url}/ HTTP/1.1\r\nHost: {origin.url[7:]}\r\n\r\n".encode())
    return reader, writer


async def test_content_reaches_all_as_it_arrives_whoever_leaves(shared_proxy: Any) -> None:
    async with serving(SlowContent()) as origin, asyncio.timeout(PATIENCE_S):
        origin.pieces.put_nowait(b"first")
        clients = []
        for _ in range(3):  # one after the other: all but the first join it in the middle of the content
            reader, writer = await asking(shared_proxy, origin)
            head = await reader.readuntil(b"first\r\n")
            assert (b"; collapsed" in head) == bool(clients)
            clients.append((reader, writer))
        clients[0][1].transport.abort()
        for piece, chunk in ((b"second", b"6\r\nsecond\r\n"), (b"third", b"5\r\nthird\r\n"), (b"", b"0\r\n\r\n")):
            origin.pieces.put_nowait(piece)
            for reader, _ in clients[1:]:
                assert await reader.readexactly(len(chunk)) == chunk
        for _, writer in clients:
            writer.close()
        assert origin.contacts == 1


async def test_content_that_breaks_off_is_complete_for_nobody(shared_proxy: Any) -> None:
    async with serving(SlowContent()) as origin, asyncio.timeout(PATIENCE_S):
        origin.pieces.put_nowait(b"first")
        clients = [await asking(shared_proxy, origin) for _ in range(3)]
        for reader, _ in clients:
            await reader.readuntil(b"first\r\n")
        origin.pieces.put_nowait(None)
        for reader, writer in clients:
            assert await reader.read() == b"", "closed without the last chunk"
            writer.close()
        assert origin.contacts == 1


async def test_cookies_are_no_part_of_a_crowd(shared_proxy: Any) -> None:
    """A page without lifetime that was fetched with a cookie answers nobody else, however close they follow."""
    async with serving(SlowOrigin('ETag: "1"')) as origin, asyncio.timeout(PATIENCE_S):
        origin.ready = asyncio.Barrier(5).wait  # none waits for another
        answers = await asyncio.gather(*(get(shared_proxy, origin.url + "/", f"Cookie: id={n}") for n in range(5)))
        assert origin.contacts == 5
        assert not any(b"collapsed" in head for head, _ in answers)


async def test_a_dead_origin_is_asked_once_for_all(shared_proxy: Any) -> None:
    async with serving(SlowOrigin()) as origin:
        url = origin.url
    answers = await all_at_once(CLIENTS, lambda: get(shared_proxy, url + "/"))
    assert all(head.startswith(b"HTTP/1.1 502") for head, _ in answers)


@pytest.mark.slow
async def test_workers_make_one_contact_for_all_and_another_takes_over(start_proxy: Start) -> None:
    proxy = start_proxy("--workers", "2")
    async with serving(SlowOrigin('ETag: "1"', "Cache-Control: max-age=60")) as origin, asyncio.timeout(PATIENCE_S):
        origin.ready = AllHaveAsked(proxy, CLIENTS)
        answers = await all_at_once(CLIENTS, lambda: get(proxy, origin.url + "/"))
        assert origin.contacts == 1, Counter(line for head, _ in answers for line in head.split(b"\r\n"))
        assert all(body == origin.body for _, body in answers)
    async with serving(SlowOrigin("Cache-Control: max-age=60")) as origin, asyncio.timeout(PATIENCE_S):
        killed = asyncio.Event()
        origin.ready = killed.wait
        asked = [asyncio.ensure_future(get(proxy, origin.url + "/")) for _ in range(CLIENTS)]
        await AllHaveAsked(proxy, CLIENTS)()
        (holder,) = (worker for worker in workers_of(proxy) if is_connected(worker, origin.url))
        os.kill(holder, signal.SIGKILL)
        killed.set()
        answers = [one for one in await asyncio.gather(*asked, return_exceptions=True) if isinstance(one, tuple)]
        assert {body for _, body in answers} == {b"", origin.body}, "those at the other are answered"
        assert origin.contacts == 2


def is_connected(process: int, url: str) -> bool:
    """Whether a process has a connection to the port of a URL, as /proc has it."""
    remote = f"0100007F:{int(url.rpartition(':')[2]):04X}"
    table = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()]
    sockets = {f"socket:[{line[9]}]" for line in table if line[2] == remote}
    links = []
    for fd in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            links.append(str(fd.readlink()))
    return not sockets.isdisjoint(links)
