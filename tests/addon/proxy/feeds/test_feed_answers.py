"""Feeds through the parts of a proxy, in the time of a clock that the test moves."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.feeds.feed_answers import read_start, resumed
from bestbefore.addon.rfc9111.message import Head
from tests.addon.proxy.feeds.polling import DAY_S, HOUR_S, START_S, TARGET, Feed, ask, proxy


@pytest.fixture
def feed() -> Feed:
    return Feed(ManualClock(START_S))


async def test_one_look_a_day_finds_every_posting_at_its_time(feed: Feed, tmp_path: Path) -> None:
    feed.posted_s = [START_S + hour * HOUR_S for hour in range(-12, 240, 3)]
    async with proxy(feed) as (exchanges, store):
        for _ in range(10):
            await ask(exchanges, Cache_Control="no-cache")
            feed.clock.advance(DAY_S)
        record = await store.record(TARGET.url)
    assert record is not None
    assert [update.by_s for update in record.updates] == [t for t in feed.posted_s if t <= START_S + 9 * DAY_S]
    assert all(update.exact for update in record.updates)
    assert record.since_s == START_S - 12 * HOUR_S


async def test_what_a_feed_declares_lengthens_a_short_lifetime(feed: Feed, tmp_path: Path) -> None:
    feed.channel = "<ttl>30</ttl>"
    async with proxy(feed) as (exchanges, _):
        await ask(exchanges)
        feed.clock.advance(29 * 60)
        hit = await ask(exchanges)
        feed.clock.advance(61)
        await ask(exchanges)
    assert "detail=feed-hint" in (hit.head.fields.get("cache-status") or "")
    assert feed.asked == 2


async def test_a_permanent_redirect_is_believed_for_a_day(feed: Feed, tmp_path: Path) -> None:
    async with proxy(feed) as (exchanges, store):
        await ask(exchanges)
        feed.status = 301
        await ask(exchanges, Cache_Control="no-cache")
        for hours, asked in ((23, 2), (2, 3), (23, 3)):
            feed.clock.advance(hours * HOUR_S)
            assert (await ask(exchanges)).head.status == 301
            assert feed.asked == asked
        feed.status = 200
        assert (await ask(exchanges, Cache_Control="no-cache")).head.status == 200
        record = await store.record(TARGET.url)
    assert record is not None
    assert record.n_updates == 0


async def test_a_redirect_of_what_was_never_a_feed_is_asked_for_each_time(feed: Feed, tmp_path: Path) -> None:
    feed.status = 301
    async with proxy(feed) as (exchanges, _):
        for _ in range(3):
            await ask(exchanges)
    assert feed.asked == 3


async def test_clocks_that_run_backwards_leave_a_sane_history(feed: Feed, tmp_path: Path) -> None:
    feed.posted_s = [START_S + hour * HOUR_S for hour in range(-48, 480, 6)]
    async with proxy(feed) as (exchanges, store):
        for jump_s in (0.0, DAY_S, -2 * HOUR_S, DAY_S, -8 * DAY_S, DAY_S, DAY_S):
            feed.clock.advance(jump_s) if jump_s >= 0 else feed.clock.set(feed.clock.now() + jump_s)
            assert (await ask(exchanges, Cache_Control="no-cache")).head.status == 200
            record = await store.record(TARGET.url)
            assert record is not None
            assert all(update.by_s <= feed.clock.now() + 60 for update in record.updates)
    times = [update.by_s for update in record.updates if update.exact]
    assert times == sorted(set(times))
    assert set(times) <= set(feed.posted_s)


async def test_a_feed_without_validator_is_answered_alike_to_all_who_ask_at_once(feed: Feed, tmp_path: Path) -> None:
    feed.lines, feed.posted_s = (("Cache-Control", "max-age=60"),), [START_S - 60]
    async with proxy(feed) as (exchanges, _):
        answers = await asyncio.gather(*(ask(exchanges) for _ in range(5)))
        tags = {answer.head.fields.get("etag") for answer in answers}
        assert len(tags) == 1
        again = await ask(exchanges, If_None_Match=str(tags.pop()), Cache_Control="no-cache")
    assert feed.asked == 2
    assert (again.head.status, again.body) == (304, b"")


async def pieces(*parts: bytes) -> AsyncGenerator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize(
    ("parts", "read", "is_feed"),
    [
        ((b"<?xml versi", b"on='1.0'?>", b"<rss ", b"more"), 3, True),
        ((b"<!DOCTYPE html>", b"<html>", b"more"), 2, False),
        ((b"<?xml", b" version"), 2, False),
        ((), 0, False),
    ],
)
async def test_only_as_much_is_read_as_shows_the_format_and_nothing_is_lost(
    parts: tuple[bytes, ...], read: int, is_feed: bool
) -> None:
    chunks = pieces(*parts)
    start, found = await read_start(chunks, Head(200))
    assert (start, found) == (b"".join(parts[:read]), is_feed)
    assert b"".join([chunk async for chunk in resumed(start, chunks)]) == b"".join(parts)


async def test_content_that_is_resumed_and_left_is_closed() -> None:
    closed = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b"1"
            yield b"2"
        finally:
            closed.set()

    chunks = pieces()
    content = resumed(await anext(chunks), chunks)
    assert [await anext(content), await anext(content)] == [b"1", b"2"]
    await content.aclose()
    assert closed.is_set()
