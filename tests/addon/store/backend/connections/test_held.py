"""Held connections: whose replies are whose, and what becomes of a connection that is broken off or closed."""

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.connections.held import HELD


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
