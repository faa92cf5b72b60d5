"""Content that is collected in memory or in a file."""

import asyncio
from pathlib import Path

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES, PIECE_BYTES, Content
from bestbefore.addon.store.backend.unlinked import UnlinkedFile, whole


async def read(content: Content) -> bytes:
    pieces, at = [], 0
    while at < content.size:
        pieces.append(await content.read(at))
        at += len(pieces[-1])
    return b"".join(pieces)


async def test_what_is_small_is_in_memory_once() -> None:
    budget = Budget(100)
    content = Content(budget)
    assert await content.add(b"ab")
    assert await content.add(b"cd")
    body = content.body()
    assert body == b"abcd"
    assert content.body() is body
    assert await read(content) == b"abcd"
    assert await content.read(1) == b"bcd"
    assert budget.used_bytes == 4
    del content
    assert budget.used_bytes == 0


async def test_what_is_large_is_in_a_file_although_there_is_room(tmp_path: Path) -> None:
    budget = Budget(10 * MEMORY_BYTES, tmp_path)
    content, sent = Content(budget), []
    for number in range(5):
        sent.append(bytes([number]) * (MEMORY_BYTES // 3))
        assert await content.add(sent[-1])
    body = content.body()
    assert isinstance(body, UnlinkedFile)
    assert whole(body) == await read(content) == b"".join(sent)
    assert budget.used_bytes == 0
    assert budget.file_bytes == content.size == len(body)
    del content
    assert budget.file_bytes == 0
    assert len(body.read_all()) == len(body), "a reader that has it can read on"
    assert budget.files == 1
    del body
    async with asyncio.timeout(30.0):  # the thread that read it last may be a moment behind
        while budget.files:  # noqa: ASYNC110 - nothing says when
            await asyncio.sleep(0.01)


async def test_what_does_not_fit_is_in_a_file_although_it_is_small(tmp_path: Path) -> None:
    budget = Budget(10, tmp_path)
    content = Content(budget)
    assert await content.add(b"01234567")
    assert await content.add(b"89abcdef")
    assert budget.used_bytes == 0
    assert await read(content) == b"0123456789abcdef"


async def test_without_room_nothing_is_added() -> None:
    budget = Budget(10)
    content = Content(budget)
    assert await content.add(b"01234567")
    assert not await content.add(b"89abcdef")
    assert content.size == 8
    assert await read(content) == b"01234567"


async def test_what_cannot_be_moved_to_a_file_stays_in_memory(tmp_path: Path) -> None:
    budget = Budget(10, tmp_path, files_at_most=0)
    content = Content(budget)
    assert await content.add(b"01234567")
    assert not await content.add(b"89abcdef")
    assert await read(content) == b"01234567"
    assert budget.used_bytes == 8


async def test_a_file_that_may_not_become_so_large_is_not_kept(tmp_path: Path) -> None:
    budget = Budget(1, tmp_path)  # 32 bytes in files
    content = Content(budget)
    assert await content.add(bytes(30))
    assert not await content.add(bytes(3))
    assert await read(content) == bytes(30)


async def test_what_was_written_of_a_move_that_fails_is_given_back(tmp_path: Path) -> None:
    budget = Budget(30, tmp_path)  # 960 bytes in files
    content = Content(budget)
    for _ in range(3):
        assert await content.add(bytes(10))
    assert budget.take_file(945)
    assert not await content.add(b"x")
    assert budget.file_bytes == 945
    assert await read(content) == bytes(30)


async def test_large_pieces_are_cut() -> None:
    content = Content(Budget())
    await content.add(bytes(10 * PIECE_BYTES))
    assert len(await content.read(0)) == PIECE_BYTES
