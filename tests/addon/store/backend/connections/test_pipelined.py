"""Pipelines on a connection of redis-py: their time limit, and data that belongs to none of them."""

import asyncio
import time

import pytest
import redis.exceptions as errors
from redis.asyncio import Connection

from bestbefore.addon.store.backend.connections.pipelined import PipelinedConnection

PATIENCE_S = 3.0
"""So long a reply may take: more than a busy machine stands still."""


async def connected(serve):
    """Return a connection of redis-py to a server that calls `serve` with a writer for each data it reads."""

    async def accept(reader, writer):
        while data := await reader.read(65536):
            if b"SETINFO" in data:
                writer.write(b"+OK\r\n" * data.count(b"SETINFO"))
            else:
                await serve(data, writer)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = Connection(port=port, protocol=2)
    await connection.connect()
    return server, connection


async def test_each_reply_has_its_time_and_not_all_together():
    """Four replies that come after a third of the time each are waited for; one that does not come is not."""

    async def serve(data, writer):
        for reply in (b"+a\r\n", b"-ERR b\r\n", b"$1\r\nc\r\n", b":4\r\n")[: data.count(b"GET")]:
            await asyncio.sleep(PATIENCE_S / 3)
            writer.write(reply)

    server, connection = await connected(serve)
    pipelined = PipelinedConnection(connection, PATIENCE_S)
    first, failed, *others = await pipelined.answers(b"GET GET GET GET", 4)
    assert (first, others) == (b"a", [b"c", 4])
    assert isinstance(failed, errors.ResponseError)
    assert pipelined.is_open
    hasty = PipelinedConnection(connection, 0.1)
    with pytest.raises(TimeoutError):
        await hasty.answers(b"nothing", 1)
    assert not hasty.is_open
    await connection.disconnect()
    server.close()
    await server.wait_closed()


async def test_a_connection_stays_open_whose_reply_is_read_late():
    """The time is up in the very turn of the event loop in which the reply, which came in time, is read."""

    async def serve(_data, writer):
        writer.write(b"+a\r\n")
        _block(1.1 * PATIENCE_S)

    server, connection = await connected(serve)
    pipelined = PipelinedConnection(connection, PATIENCE_S)
    assert await pipelined.answers(b"GET", 1) == [b"a"]
    assert pipelined.is_open
    await connection.disconnect()
    server.close()
    await server.wait_closed()


def _block(seconds):
    time.sleep(seconds)


@pytest.mark.parametrize("behind", [b"+2\r\n", b"*1\r\n"])
async def test_what_was_not_asked_for_makes_a_connection_unusable(behind):
    """A second reply, or a part of one, to one command would answer the next command."""

    async def serve(_data, writer):
        writer.write(b"+1\r\n" + behind)

    server, connection = await connected(serve)
    pipelined = PipelinedConnection(connection, PATIENCE_S)
    assert await pipelined.answers(b"GET", 1) == [b"1"]
    assert not pipelined.is_open
    with pytest.raises(errors.ConnectionError):
        await pipelined.answers(b"GET", 1)
    await connection.disconnect()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (b"", errors.ConnectionError),
        (b"hello\r\n", errors.InvalidResponse),
        (b"-LOADING it\r\n", errors.BusyLoadingError),
    ],
)
async def test_the_end_of_a_connection_and_what_is_no_reply_end_a_pipeline(reply, error):
    """So does an error that concerns the connection."""

    async def serve(_data, writer):
        writer.write(reply)
        writer.close()

    server, connection = await connected(serve)
    pipelined = PipelinedConnection(connection, PATIENCE_S)
    with pytest.raises(error):
        await pipelined.answers(b"GET GET", 2)
    assert not pipelined.is_open
    await asyncio.wait_for(connection.disconnect(), 30)
    server.close()
    await server.wait_closed()
