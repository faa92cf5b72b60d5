"""Commands of several callers share a connection, and each gets its own replies."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import DataError, InvalidResponse, ResponseError
from redis.exceptions import TimeoutError as SlowError

from bestbefore.addon.store.backend.resp.client import PipelinedClient


@asynccontextmanager
async def connected(url, patience_s=5.0):
    client = Redis.from_url(url, protocol=2, client_name="piped")
    pipelined = PipelinedClient(client, patience_s)
    try:
        yield pipelined
    finally:
        await pipelined.close()
        await client.aclose()


async def test_each_caller_gets_its_own_replies_also_after_errors_and_cancelled_callers(valkey):
    async with connected(valkey.url) as pipelined:
        calls = [
            asyncio.create_task(pipelined.replies([("SET", "k", n), ("GET", "k"), ("LPUSH", "k", 1), ("EXISTS", "k")]))
            for n in range(50)
        ]
        await asyncio.sleep(0)
        for call in calls[::3]:
            call.cancel()
        for n, call in enumerate(calls):
            if n % 3:
                done, value, wrong, exists = await call
                assert (done, value, exists) == (True, b"%d" % n, 1)
                assert isinstance(wrong, ResponseError)
                assert "WRONGTYPE" in str(wrong)
        with pytest.raises(DataError):
            await pipelined.replies([("GET", "k"), ("GET", None)])
        assert await pipelined.replies([("ECHO", "x")]) == [b"x"]
        with valkey.client as client:
            assert [c["name"] for c in client.client_list()].count("piped") == 1


async def test_after_the_server_has_closed_the_connection_there_is_another(valkey):
    async with connected(valkey.url) as pipelined:
        ours = (await pipelined.replies([("CLIENT", "ID")]))[0]
        slow = asyncio.create_task(pipelined.replies([("BLPOP", "nothing", 30)]))
        await asyncio.sleep(0.05)
        with valkey.client as client:
            client.execute_command("CLIENT", "KILL", "ID", ours)
        with pytest.raises(LostError):
            await slow
        assert (await pipelined.replies([("CLIENT", "ID")]))[0] > ours


@pytest.mark.parametrize(("reply", "means"), [(b"", SlowError), (b"hello\r\n", InvalidResponse), (None, LostError)])
async def test_a_server_that_does_not_answer_as_it_should_is_given_up(reply, means):
    """Its handshake is well."""

    async def serve(reader, writer):
        while data := await reader.read(4096):
            if b"PING" not in data:
                writer.write(b"+OK\r\n" * data.count(b"*"))
            elif reply is None:
                break
            else:
                writer.write(reply)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        async with connected(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", 0.1) as pipelined:
            with pytest.raises(means):
                await pipelined.replies([("PING",)])
