"""Which connections to origins are used again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.access.reach import EVERYWHERE
from bestbefore.addon.proxy.limits import TimeLimits
from bestbefore.addon.proxy.origin import pool as pool_module
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.proxy.origin.pool import QUIET_S, Pool, PoolKey
from bestbefore.addon.proxy.origin.unsound import UnsoundOrigin
from bestbefore.addon.rfc9111.message import Request, Target
from tests.addon.proxy.origin.test_connection import answering, connected
from tests.addon.store.waiting import until


class Server:
    """Answers with the number of the connection and of the request on it; may send more afterwards."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self.heads: list[bytes] = []
        self.surplus = b""
        self.late_s = 0.0
        self.close_after = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        name, served = self.connections, 0
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                served += 1
                body = b"%d.%d" % (name, served)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
                if self.surplus:
                    await asyncio.sleep(self.late_s)
                    writer.write(self.surplus)
                if served == self.close_after:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


@asynccontextmanager
async def serving(
    limits: TimeLimits | None = None,
    max_open: int = 100,
    on_unexpected_data: Callable[[Sequence[str]], object] = lambda _: None,
) -> AsyncIterator[tuple[Server, Origin]]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    limits = limits or TimeLimits()
    origin = Origin(ManualClock(0.0), limits=limits, max_open=max_open, on_unexpected_data=on_unexpected_data)
    yield server, origin
    await origin.close()
    listening.close()
    await listening.wait_closed()


async def get(server: Server, origin: Origin, path: str = "", method: str = "GET") -> str:
    fetched = await origin.fetch(Request(method, Target.parse(server.url + path)))
    return b"".join([chunk async for chunk in fetched.chunks]).decode()


async def test_a_connection_is_used_again_after_it_was_quiet() -> None:
    async with serving() as (server, origin):
        assert await get(server, origin) == "1.1"
        assert await get(server, origin) == "2.1", "the first is not trusted yet"
        await asyncio.sleep(QUIET_S + 0.05)
        assert await get(server, origin) == "1.2", "the one that has been quiet the longest"


@pytest.mark.parametrize("late_s", [0.0, 0.005, 0.05, 0.1])
async def test_a_surplus_reaches_no_request_and_ends_the_trust_in_its_origin(late_s: float) -> None:
    dropped: list[str] = []
    async with serving(on_unexpected_data=dropped.extend) as (server, origin):
        server.surplus, server.late_s = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", late_s
        for number in range(1, 5):
            assert await get(server, origin) == f"{number}.1"
            await asyncio.sleep(QUIET_S / 2 + late_s)
        server.surplus = b""
        assert await get(server, origin) == "5.1"
        await asyncio.sleep(QUIET_S + 0.05)
        assert await get(server, origin) == "6.1"
        assert b"Connection: close" in server.heads[-1]
        assert dropped == []


async def test_an_idle_connection_is_not_used_again_once_another_worker_has_found_its_origin_unsound() -> None:
    async with serving() as (server, origin):
        assert await get(server, origin) == "1.1"
        await asyncio.sleep(QUIET_S + 0.05)
        (key,) = origin._pool._idle
        origin._pool._unsound.receive(UnsoundOrigin(key, asyncio.get_running_loop().time()))
        assert await get(server, origin) == "2.1"


async def test_what_was_answered_on_a_connection_with_a_surplus_is_named() -> None:
    """From its second answer on, each may have been that of another request."""
    dropped: list[str] = []
    async with serving(on_unexpected_data=dropped.extend) as (server, origin):
        assert await get(server, origin, "first") == "1.1"
        await asyncio.sleep(QUIET_S + 0.05)
        server.surplus, server.late_s = b"more", 0.01
        assert await get(server, origin, "second") == "1.2"
        await until(lambda: dropped)
        assert dropped == [server.url + "second"]


async def test_a_connection_that_the_origin_closed_is_replaced() -> None:
    async with serving() as (server, origin):
        server.close_after = 1
        for number in range(1, 4):
            assert await get(server, origin) == f"{number}.1"
            await asyncio.sleep(QUIET_S + 0.05)


async def test_what_cannot_be_sent_again_has_a_connection_of_its_own() -> None:
    async with serving() as (server, origin):
        assert await get(server, origin) == "1.1"
        await asyncio.sleep(QUIET_S + 0.05)
        assert await get(server, origin, method="POST") == "2.1"


async def test_idle_connections_make_room_and_busy_ones_are_waited_for() -> None:
    async with serving(TimeLimits(connect_s=30.0), max_open=1) as (server, origin):
        assert await get(server, origin) == "1.1"
        assert await get(server, origin) == "2.1", "the idle one was closed"
        busy = await origin.fetch(Request("GET", Target.parse(server.url)))
        server.surplus = b""
        busy_too = asyncio.create_task(get(server, origin))
        assert b"".join([chunk async for chunk in busy.chunks]) == b"3.1"
        assert await busy_too == "4.1"


async def test_too_many_connections_are_refused_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(TimeLimits(connect_s=1.0, read_s=30.0), max_open=1) as (server, origin):
        accepted, blocked = asyncio.Event(), asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            accepted.set()
            await blocked.wait()
            writer.close()

        listening = await asyncio.start_server(silent, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        waiting = asyncio.create_task(origin.fetch(Request("GET", Target.parse(url))))
        await accepted.wait()
        with pytest.raises(OriginError, match="too many"):
            await get(server, origin)
        blocked.set()
        with pytest.raises(OriginError):
            await waiting
        listening.close()
        await listening.wait_closed()


async def test_an_idle_connection_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_S", 0.05)
    async with serving() as (server, origin):
        await get(server, origin)
        await until(lambda: origin._pool.open == 0)


async def test_only_so_many_connections_to_an_origin_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be sent again brings one for each request, and takes none."""
    monkeypatch.setattr(pool_module, "MAX_IDLE", 2)
    async with serving() as (server, origin):
        for _ in range(5):
            await get(server, origin, method="POST")
        await until(lambda: origin._pool.open == 2)
        await asyncio.sleep(0.05)
        assert origin._pool.open == 2


async def test_a_connection_is_closed_after_so_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_REQUESTS", 2)
    async with serving() as (server, origin):
        answers = []
        for _ in range(4):
            answers.append(await get(server, origin))
            await asyncio.sleep(QUIET_S * 1.1)
        assert answers == ["1.1", "1.2", "2.1", "2.2"]


async def test_a_connection_is_given_to_one_exchange_until_it_is_put_back() -> None:
    async with connected(answering(b"")) as connection:
        pool, key = Pool(), PoolKey(EVERYWHERE, "http", "127.0.0.1", 80)
        connection.idle_since_s = -QUIET_S
        pool.put(key, connection)
        assert [pool.take(key), pool.take(key)] == [connection, None]
        pool.put(key, connection)
        assert pool.take(key) is connection


async def test_a_connection_that_closes_while_idle_leaves_its_place_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_IDLE", 1)
    async with connected(answering(b"")) as first, connected(answering(b"")) as second:
        pool, key = Pool(max_open=2), PoolKey(EVERYWHERE, "http", "127.0.0.1", 80)
        for connection in (first, second):
            await pool.reserve_place(1.0)
            pool.add(key, connection)
        pool.put(key, first)
        first.abort()
        await asyncio.shield(first.closed)
        await asyncio.sleep(0)
        assert (pool.open, pool._idle) == (1, {})
        pool.put(key, second)
        assert second.is_open
        for open_now in (2, 2):  # the second reservation closes the idle connection, the third finds none
            await pool.reserve_place(1.0)
            assert pool.open == open_now
        with pytest.raises(OriginError, match="too many connections to origins are open"):
            await pool.reserve_place(0.01)
        pool.release_place()
        await pool.reserve_place(0.01)
        assert pool.open == 2
