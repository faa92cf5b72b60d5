"""One fetch for many: the spool and the flight."""

import asyncio

import pytest

from bestbefore.addon.proxy.flight import Crashed, Flight, Spool
from bestbefore.addon.proxy.origin.contact import Failure, OriginError

PATIENCE_S = 5


async def read_all(spool: Spool) -> list[bytes]:
    return [chunk async for chunk in spool.read(spool.join())]


async def test_readers_that_come_early_and_late_read_the_same() -> None:
    spool = Spool(limit=100)
    early = asyncio.create_task(read_all(spool))
    await asyncio.sleep(0)
    assert await spool.write(b"a")
    late = asyncio.create_task(read_all(spool))
    assert await spool.write(b"b")
    spool.end()
    after = await read_all(spool)
    assert await early == await late == after == [b"a", b"b"]


async def test_a_slow_reader_holds_up_nobody_within_the_limit() -> None:
    spool = Spool(limit=100)
    slow = spool.read(spool.join())
    for _ in range(10):
        assert await spool.write(b"0123456789")
    assert await anext(slow) == b"0123456789"
    await slow.aclose()


async def test_beyond_the_limit_the_writer_waits_for_the_readers_and_nobody_can_join() -> None:
    spool = Spool(limit=3)
    reader = spool.read(spool.join())
    writing = asyncio.create_task(spool.write(b"1234"))
    await asyncio.sleep(0)
    assert not writing.done()
    assert await anext(reader) == b"1234"
    assert await asyncio.wait_for(writing, PATIENCE_S)
    assert not spool.is_whole
    spool.end()
    assert [chunk async for chunk in reader] == []


async def test_beyond_the_limit_without_readers_there_is_no_use_to_go_on() -> None:
    spool = Spool(limit=3)
    reader = spool.read(spool.join())
    assert await spool.write(b"123")
    await anext(reader)
    await reader.aclose()
    assert not await spool.write(b"4")


async def test_what_was_cut_short_ends_with_the_error_for_all() -> None:
    spool = Spool(limit=10)
    error = OriginError(Failure.RESET, "gone")
    await spool.write(b"a")
    spool.end(error)
    reader = spool.read(spool.join())
    assert await anext(reader) == b"a"
    with pytest.raises(OriginError, match="gone"):
        await anext(reader)


async def test_the_first_landing_counts_and_reaches_all_who_wait() -> None:
    flight = Flight()
    waiting = [asyncio.create_task(flight.landing()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    crash = Crashed(OriginError(Failure.TIMEOUT, "late"))
    flight.land(crash)
    flight.land(None)
    assert await asyncio.gather(*waiting[1:]) == [crash, crash]


async def test_a_reader_that_leaves_without_ever_reading_holds_up_nobody() -> None:
    spool = Spool(limit=1)
    reader = spool.join()
    spool.read(reader)
    writing = asyncio.create_task(spool.write(b"12"))
    await asyncio.sleep(0)
    spool.leave(reader)
    assert not await asyncio.wait_for(writing, PATIENCE_S)


async def test_content_settles_when_all_of_it_is_held() -> None:
    spool = Spool(limit=3)
    waiting = asyncio.create_task(spool.settled(PATIENCE_S))
    await spool.write(b"abc")
    await asyncio.sleep(0)
    assert not waiting.done()
    spool.end()
    assert await waiting


async def test_content_that_is_too_large_or_takes_too_long_does_not_settle() -> None:
    slow, large = Spool(limit=3), Spool(limit=3)
    assert not await slow.settled(0.01)
    large.join()
    writing = asyncio.create_task(large.write(b"abcd"))
    assert not await large.settled(PATIENCE_S)
    writing.cancel()
