"""Content for several readers, and what becomes of slow ones."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.sharing.spool import Spool
from bestbefore.addon.proxy.origin.contact import Failure, OriginError

PATIENCE_S = 30


async def no_rest(_: int) -> AsyncGenerator[bytes]:
    raise ConnectionError("too slow")
    yield b""


async def write(spool: Spool, chunk: bytes) -> bool:
    await spool.add(chunk)
    return await spool.publish()


async def read_all(spool: Spool) -> list[bytes]:
    return [chunk async for chunk in spool.read(spool.join(), no_rest)]


async def test_readers_that_come_early_and_late_read_the_same() -> None:
    spool = Spool(limit=100)
    early = asyncio.create_task(read_all(spool))
    await asyncio.sleep(0)
    assert await write(spool, b"a")
    late = asyncio.create_task(read_all(spool))
    assert await write(spool, b"b")
    await asyncio.sleep(0)
    after = spool.join()
    spool.end()
    assert await early == await late == [chunk async for chunk in spool.read(after, no_rest)] == [b"a", b"b"]


async def test_content_without_readers_is_released() -> None:
    budget = Budget(100)
    spool = Spool(100, budget)
    reader = spool.join()
    await write(spool, b"0123456789")
    spool.end()
    assert budget.used_bytes == 10
    spool.leave(reader)
    assert budget.used_bytes == 0
    assert not spool.can_be_joined


async def test_content_is_released_also_where_one_waited_for_it_and_gave_up() -> None:
    budget = Budget(1000)
    spool = Spool(100, budget)
    await write(spool, b"1234")
    assert not await spool.is_collected(0.01)
    assert budget.used_bytes
    spool.end()
    assert not budget.used_bytes


async def test_what_is_to_be_stored_first_is_read_only_when_it_is_shown() -> None:
    spool = Spool(100)
    chunks = spool.read(spool.join(), no_rest)
    await write(spool, b"a")
    await spool.add(b"b")
    assert spool.body == b"ab"
    assert await anext(chunks) == b"a"
    last = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0)
    assert not last.done()
    assert await spool.publish()
    assert await last == b"b"


async def test_what_was_not_shown_does_not_count_when_it_is_cut_short() -> None:
    spool = Spool(100)
    chunks = spool.read(spool.join(), no_rest)
    await spool.add(b"a")
    spool.end(OriginError(Failure.RESET, "a fault"))
    with pytest.raises(OriginError, match="a fault"):
        await anext(chunks)


async def test_beyond_the_budget_the_writer_waits_and_nothing_is_stored() -> None:
    spool = Spool(100, Budget(10))
    reader = spool.read(spool.join(), no_rest)
    assert await write(spool, b"01234567")
    writing = asyncio.create_task(write(spool, b"89abcdef"))
    await asyncio.sleep(0)
    assert spool.body is None
    assert spool.is_too_large
    assert await anext(reader) == b"01234567"
    assert not writing.done()
    assert await anext(reader) == b"89abcdef"
    assert await asyncio.wait_for(writing, PATIENCE_S)


async def test_what_is_too_large_for_memory_is_read_from_a_file(tmp_path: Path) -> None:
    budget = Budget(10, tmp_path)
    spool = Spool(100, budget)
    early, late = spool.read(spool.join(), no_rest), spool.join()
    for chunk in (b"01234567", b"89abcdef", b"ghijklmn"):
        assert await write(spool, chunk)
    assert budget.used_bytes == 0
    assert budget.file_bytes == 24
    spool.end()
    assert b"".join([chunk async for chunk in early]) == b"0123456789abcdefghijklmn"
    assert b"".join([chunk async for chunk in spool.read(late, no_rest)]) == b"0123456789abcdefghijklmn"
    assert budget.file_bytes == 0


async def test_a_slow_reader_delays_no_other_within_the_limit() -> None:
    spool = Spool(limit=100)
    slow = spool.read(spool.join(), no_rest)
    for _ in range(10):
        assert await write(spool, b"0123456789")
    assert await anext(slow) == b"0123456789"
    await slow.aclose()


async def test_beyond_the_limit_the_writer_waits_for_the_readers_and_none_can_join() -> None:
    spool = Spool(limit=3)
    reader = spool.read(spool.join(), no_rest)
    writing = asyncio.create_task(write(spool, b"1234"))
    await asyncio.sleep(0)
    assert not writing.done()
    assert await anext(reader) == b"1234"
    assert await asyncio.wait_for(writing, PATIENCE_S)
    assert not spool.can_be_joined
    spool.end()
    assert [chunk async for chunk in reader] == []


async def test_beyond_the_limit_the_fastest_reader_sets_the_pace_and_what_others_missed_is_kept() -> None:
    budget = Budget(1000)
    spool = Spool(16, budget)
    fast, slow = spool.read(spool.join(), no_rest), spool.read(spool.join(), no_rest)
    sent = [bytes([number]) * 4 for number in range(8)]
    for number, chunk in enumerate(sent):
        writing = asyncio.create_task(write(spool, chunk))
        assert await anext(fast) == chunk
        assert await asyncio.wait_for(writing, PATIENCE_S)
        assert spool.exceeds_limit == (number >= 4)
        assert budget.used_bytes == 4 * (number + 1)
    assert [await anext(slow) for _ in sent] == sent
    writing = asyncio.create_task(write(spool, b"last"))
    assert await anext(fast) == b"last"
    await writing
    assert budget.used_bytes == 4, "what all have read is released"


@pytest.mark.parametrize("memory_bytes", [1000, 18])
async def test_a_reader_that_is_too_far_behind_gets_the_rest_from_elsewhere(
    memory_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be it by the limit or by the budget."""
    monkeypatch.setattr("bestbefore.addon.proxy.exchange.sharing.spool.GRACE_S", 0.01)
    budget = Budget(memory_bytes)
    spool = Spool(8, budget)
    sent = [bytes([number]) * 4 for number in range(8)]

    async def rest(at: int) -> AsyncGenerator[bytes]:
        yield b"".join(sent)[at:]

    fast, slow = spool.read(spool.join(), no_rest), spool.read(spool.join(), rest)
    assert await write(spool, sent[0])
    assert await anext(slow) == sent[0]
    got = [await anext(fast)]
    async with asyncio.timeout(PATIENCE_S):
        for chunk in sent[1:]:
            writing = asyncio.create_task(write(spool, chunk))
            got.append(await anext(fast))
            assert await writing
    spool.end()
    assert got == sent
    assert [chunk async for chunk in slow] == [b"".join(sent[1:])]
    await fast.aclose()
    assert not budget.used_bytes


async def test_a_reader_without_room_left_that_catches_up_in_time_reads_all() -> None:
    spool = Spool(100, Budget(4))
    fast, slow = spool.read(spool.join(), no_rest), spool.read(spool.join(), no_rest)
    assert await write(spool, b"0123")
    assert await anext(fast) == b"0123"
    writing = asyncio.create_task(write(spool, b"4567"))
    assert await anext(fast) == b"4567"
    await asyncio.sleep(0)
    assert not writing.done()
    assert [await anext(slow), await anext(slow)] == [b"0123", b"4567"]
    assert await asyncio.wait_for(writing, PATIENCE_S)
    writing = asyncio.create_task(write(spool, b"89"))  # there is room again
    assert [await anext(fast), await anext(slow)] == [b"89", b"89"]
    assert await asyncio.wait_for(writing, PATIENCE_S)


async def test_beyond_the_limit_without_readers_there_is_no_use_to_go_on() -> None:
    spool = Spool(limit=3)
    reader = spool.read(spool.join(), no_rest)
    assert await write(spool, b"123")
    await anext(reader)
    await reader.aclose()
    assert not await write(spool, b"4")


async def test_what_was_cut_short_ends_with_the_error_for_all() -> None:
    spool = Spool(limit=10)
    error = OriginError(Failure.RESET, "gone")
    await write(spool, b"a")
    reader = spool.read(spool.join(), no_rest)
    spool.end(error)
    assert await anext(reader) == b"a"
    with pytest.raises(OriginError, match="gone"):
        await anext(reader)


async def test_a_reader_that_leaves_without_reading_delays_no_other() -> None:
    spool = Spool(limit=1)
    reader = spool.join()
    spool.read(reader, no_rest)
    writing = asyncio.create_task(write(spool, b"12"))
    await asyncio.sleep(0)
    spool.leave(reader)
    assert not await asyncio.wait_for(writing, PATIENCE_S)


async def test_a_reader_that_leaves_while_it_waits_gets_no_rest() -> None:
    spool = Spool(limit=10)
    reader = spool.join()
    waiting = asyncio.ensure_future(anext(spool.read(reader, no_rest), b"end"))
    await asyncio.sleep(0)
    spool.leave(reader)
    spool.end()
    assert await waiting == b"end"


async def test_content_settles_when_all_of_it_is_held() -> None:
    spool = Spool(limit=3)
    waiting = asyncio.create_task(spool.is_collected(PATIENCE_S))
    await write(spool, b"abc")
    await asyncio.sleep(0)
    assert not waiting.done()
    spool.end()
    assert await waiting


async def test_content_that_is_too_large_or_takes_too_long_does_not_settle() -> None:
    slow, large = Spool(limit=3), Spool(limit=3)
    assert not await slow.is_collected(0.01)
    large.join()
    writing = asyncio.create_task(write(large, b"abcd"))
    assert not await large.is_collected(PATIENCE_S)
    writing.cancel()


