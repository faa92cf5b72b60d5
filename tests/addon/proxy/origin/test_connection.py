"""One connection, one exchange: what arrives outside of it ends the connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bestbefore.addon.proxy.exchange.interim import no_interim
from bestbefore.addon.proxy.limits import TimeLimits
from bestbefore.addon.proxy.origin.connection import MAX_BUFFERED_BYTES, Exchange, OriginConnection
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.upload import Upload

LIMITS = TimeLimits(connect_s=30.0, head_s=0.3, read_s=30.0, idle_s=30.0)
SHORT_S = 0.5
"""A time to read where that is to end."""
PATIENCE_S = 30.0
HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

type Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def connected(serve: Serve) -> AsyncIterator[OriginConnection]:
    serving = list[asyncio.Task[object]]()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.append(task)
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: OriginConnection(tls=False), "127.0.0.1", port)
    yield connection
    connection.abort()
    for task in serving:
        task.cancel()
    server.close()
    await server.wait_closed()


def answering(answer: bytes, *, then_s: float = PATIENCE_S) -> Serve:
    """Sends an answer, and closes the connection so much later."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await asyncio.sleep(then_s)

    return serve


def exchange(
    connection: OriginConnection, released: Callable[[], object] = lambda: None, limits: TimeLimits = LIMITS
) -> Exchange:
    return Exchange(connection, "GET", limits, no_interim, released)


async def content_of(an_exchange: Exchange, read_s: float = LIMITS.read_s) -> bytes:
    return b"".join([piece async for piece in an_exchange.chunks(read_s)])


async def test_after_a_whole_answer_the_connection_may_be_used_again() -> None:
    async with connected(answering(OK)) as connection:
        released: list[bool] = []
        one = exchange(connection, lambda: released.append(True))
        await one.run(HEAD, None)
        assert await content_of(one) == b"ok"
        assert (connection.is_open, connection.is_silent(), released) == (True, True, [True])


@pytest.mark.parametrize("late_s", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("surplus", [b"x", b"\r\n", OK])
async def test_what_comes_after_the_answer_ends_the_connection(surplus: bytes, late_s: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await asyncio.sleep(late_s)
        writer.write(surplus)
        await asyncio.sleep(0.3)

    async with connected(serve) as connection:
        one = exchange(connection)
        await one.run(HEAD, None)
        assert await content_of(one) == b"ok"
        await asyncio.wait_for(asyncio.shield(connection.closed), PATIENCE_S)
        assert connection.had_unexpected_data


async def test_data_that_an_origin_sends_before_the_request_is_not_a_response() -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await asyncio.sleep(0.3)

    async with connected(serve) as connection:
        await asyncio.wait_for(asyncio.shield(connection.closed), PATIENCE_S)
        with pytest.raises(OriginError):
            await exchange(connection).run(HEAD, None)


async def test_two_exchanges_never_share_a_connection() -> None:
    async with connected(answering(OK)) as connection:
        one = exchange(connection)
        running = asyncio.create_task(one.run(HEAD, None))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError):
            await exchange(connection).run(HEAD, None)
        await running
        assert await content_of(one) == b"ok"


async def test_bytes_in_the_socket_are_seen_before_reuse() -> None:
    async with connected(answering(OK + b"x")) as connection:
        connection.begin(exchange(connection))
        connection.read(on=False)
        connection.write(HEAD)
        async with asyncio.timeout(PATIENCE_S):
            while connection.is_silent():  # noqa: ASYNC110 - it is not read, so that nothing tells
                await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("pieces", "pause_s", "read_s", "failure"),
    [
        ([b""], PATIENCE_S, SHORT_S, Failure.TIMEOUT),  # nothing at all
        ([b"HTTP/1.1 200 OK\r\nX: ", *[b"y"] * 40], 0.1, LIMITS.read_s, Failure.TIMEOUT),  # a head that drips
        ([b"HTTP/1.1 200 OK\r\n", b""], 0.0, LIMITS.read_s, Failure.RESET),
    ],
)
async def test_a_head_has_its_time(pieces: list[bytes], pause_s: float, read_s: float, failure: Failure) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(pause_s)

    async with connected(serve) as connection:
        with pytest.raises(OriginError) as error:
            await exchange(connection, limits=replace(LIMITS, read_s=read_s)).run(HEAD, None)
    assert error.value.failure is failure


async def test_an_answer_may_take_longer_than_its_head_to_begin() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(LIMITS.head_s + 0.05)
        writer.write(OK)

    async with connected(serve) as connection:
        assert (await exchange(connection).run(HEAD, None)).head.status == 200


async def test_content_that_stops_is_given_up() -> None:
    async with connected(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")) as connection:
        one = exchange(connection)
        await one.run(HEAD, None)
        with pytest.raises(OriginError) as error:
            await content_of(one, SHORT_S)
    assert error.value.failure is Failure.TIMEOUT


async def test_an_origin_is_read_no_faster_than_its_content_is_taken() -> None:
    size = 32 * MAX_BUFFERED_BYTES
    written = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // 65536):
            writer.write(bytes(65536))
            await writer.drain()
            written += 65536

    async with connected(serve) as connection:
        one = exchange(connection)
        await one.run(HEAD, None)
        await asyncio.sleep(0.2)
        assert one.buffered_bytes <= 2 * MAX_BUFFERED_BYTES
        assert len(await content_of(one)) == size
        assert one.buffered_bytes == 0


async def test_an_answer_before_the_request_is_complete_is_the_last_on_its_connection() -> None:
    async with connected(answering(OK)) as connection:
        upload = Upload(100)
        upload.feed(b"begun")
        one = exchange(connection)
        await one.run(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", upload)
        assert await content_of(one) == b"ok"
        assert not connection.is_open
        assert upload.waiting_bytes == 0


async def test_an_upload_that_breaks_off_ends_the_exchange() -> None:
    async with connected(answering(b"")) as connection:
        upload = Upload(100)
        upload.feed(b"begun")
        upload.fail("the client is gone")
        with pytest.raises(OriginError) as error:
            await exchange(connection).run(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", upload)
        assert (error.value.failure, connection.is_open) == (Failure.UPLOAD, False)


@pytest.mark.parametrize(("length", "sent"), [(6, b"abcdef"), (None, b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")])
async def test_content_is_sent_in_its_frame(length: int | None, sent: bytes) -> None:
    got = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal got
        await reader.readuntil(b"\r\n\r\n")
        got = await reader.readexactly(len(sent))
        writer.write(OK)
        await asyncio.sleep(PATIENCE_S)

    async with connected(serve) as connection:
        upload = Upload(length)
        upload.feed(b"abc")
        upload.feed(b"def")
        upload.end()
        one = exchange(connection)
        await one.run(b"PUT / HTTP/1.1\r\nHost: a\r\n\r\n", upload)
        assert (got, await content_of(one), connection.is_open) == (sent, b"ok", True)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"])
async def test_a_client_that_leaves_after_its_content_ends_the_exchange(answer: bytes) -> None:
    """No other client waits for the answer."""
    async with connected(answering(answer)) as connection:
        one, upload = exchange(connection), Upload(2)
        upload.feed(b"ok")
        upload.end()
        began_s = asyncio.get_running_loop().time()
        asyncio.get_running_loop().call_later(0.1, upload.fail, "the client broke off")

        async def answer() -> bytes:
            await one.run(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n", upload)
            return await content_of(one)

        with pytest.raises(OriginError, match="the client broke off") as error:
            await answer()
        assert error.value.failure is Failure.UPLOAD
        assert asyncio.get_running_loop().time() - began_s < LIMITS.read_s
        assert not connection.is_open


async def test_after_content_and_a_whole_answer_the_connection_may_be_used_again() -> None:
    async with connected(answering(OK)) as connection:
        released: list[bool] = []
        one, upload = exchange(connection, lambda: released.append(True)), Upload(2)
        upload.feed(b"ok")
        upload.end()
        await one.run(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n", upload)
        assert await content_of(one) == b"ok"
        assert (connection.is_open, released) == (True, [True])
        upload.fail("the client broke off")
        await asyncio.sleep(0)
        assert connection.is_open


async def test_nothing_is_sent_where_there_is_no_connection_any_more() -> None:
    OriginConnection(tls=False).write(HEAD)
    async with connected(answering(OK)) as connection:
        connection.abort()
        connection.write(HEAD)
        assert not connection.is_open


async def test_only_an_open_connection_without_data_is_silent() -> None:
    goes_on = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await goes_on.wait()

    assert not OriginConnection(tls=False).is_silent()
    async with connected(serve) as connection:
        assert connection.is_silent()
        connection.abort()
        await asyncio.wait_for(asyncio.shield(connection.closed), PATIENCE_S)
        await asyncio.sleep(0)
        assert not connection.is_silent()
        goes_on.set()


@pytest.mark.parametrize(("size", "read_on"), [(MAX_BUFFERED_BYTES, []), (MAX_BUFFERED_BYTES + 1, [False])])
async def test_reading_is_paused_from_the_first_byte_beyond_the_bound(
    monkeypatch: pytest.MonkeyPatch, size: int, read_on: list[bool]
) -> None:
    paused = list[bool]()
    async with connected(answering(b"", then_s=0.0)) as connection:
        one = exchange(connection)
        connection.begin(one)
        monkeypatch.setattr(connection, "read", lambda *, on: paused.append(on))
        one.receive(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * size) + bytes(size))
        assert (one.buffered_bytes, paused) == (size, read_on)
        one.close()
