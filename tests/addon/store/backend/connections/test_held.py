"""Held connections: whose replies are whose, and what becomes of a connection that is broken off or closed."""

import asyncio
import time
from contextlib import asynccontextmanager

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import BlockingConnectionPool, Redis

from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.connections.held import HELD, HeldConnections

PATIENCE_S = 3.0
"""So long a reply may take: more than a busy machine stands still."""


@given(cancelled=st.lists(st.tuples(st.integers(0, 3 * HELD - 1), st.integers(0, 6)), max_size=20))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_gets_its_own_replies_whatever_is_cancelled_and_whatever_fails(valkey, cancelled):
    async def replies():
        connection = Connection(valkey.url)
        await connection.open()

        async def read(i):
            await connection.ask("SET", f"key-{i}", i)
            return await connection.answers([("GET", f"key-{i}"), ("HGET", f"key-{i}", "x"), ("GET", f"key-{i}")])

        reading = [asyncio.create_task(read(i)) for i in range(3 * HELD)]
        for i, turns in cancelled:
            for _ in range(turns):
                await asyncio.sleep(0)
            reading[i].cancel()
        found = await asyncio.gather(*reading, return_exceptions=True)
        assert await connection.answers([("GET", "key-0")] * 2)
        await connection.close()
        return found

    for i, found in enumerate(asyncio.run(replies())):
        if isinstance(found, asyncio.CancelledError):
            assert i in {one for one, _ in cancelled}
        else:
            first, failed, last = found
            assert first == last == b"%d" % i
            assert isinstance(failed, Exception)


async def test_a_connection_that_the_server_has_closed_is_opened_again(valkey):
    connection = Connection(valkey.url)
    await connection.open()
    assert await connection.answers([("SET", "a", "1"), ("HGET", "b", "c")])
    with valkey.client as client:
        client.client_kill_filter(_type="normal", skipme=True)
    await asyncio.sleep(0.05)
    assert await connection.answers([("GET", "a"), ("HGET", "b", "c")]) == [b"1", None]
    await connection.close()


@asynccontextmanager
async def held_connections(reply_after_s, patience_s=PATIENCE_S):
    """Held connections to a server that replies to each command after a time; None: never."""

    async def accept(reader, writer):
        while data := await reader.read(65536):
            if b"SETINFO" in data:
                writer.write(b"+OK\r\n" * data.count(b"SETINFO"))
            elif reply_after_s is not None:
                await asyncio.sleep(reply_after_s)
                writer.write(b"+OK\r\n")
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = Redis.from_pool(BlockingConnectionPool(port=port, protocol=2, max_connections=2 * HELD))
        yield HeldConnections(client, patience_s)
        await client.aclose()


async def test_commands_wait_for_a_connection_for_longer_than_the_server_may_take_to_reply():
    """The server is well: that this process has much to ask is no reason to take what is stored for missing."""
    async with held_connections(PATIENCE_S / 5) as held:
        started_s = time.monotonic()
        found = await asyncio.gather(*(held.answers([("GET", "x")]) for _ in range(6 * HELD)))
        assert time.monotonic() - started_s > PATIENCE_S
        assert found == [[b"OK"]] * len(found)


async def test_those_that_wait_fail_together_with_the_connections():
    patience_s = PATIENCE_S / 3
    async with held_connections(None, patience_s) as held:
        started_s = time.monotonic()
        found = await asyncio.gather(*(held.answers([("GET", "x")]) for _ in range(6 * HELD)), return_exceptions=True)
        assert time.monotonic() - started_s < 5 * patience_s, "one after the other it would be six times"
        assert {type(one) for one in found} == {TimeoutError}


async def test_a_connection_made_while_all_are_closed_is_closed_after_its_commands(valkey):
    client = Redis.from_url(valkey.url)
    held = HeldConnections(client, PATIENCE_S)
    asking = asyncio.create_task(held.answers([("CLIENT", "ID")]))
    await asyncio.sleep(0)  # it connects now
    held.close()
    await client.aclose()
    assert await asking
    assert [one.connection.is_connected for one in held._idle] == [False]
