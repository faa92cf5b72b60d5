"""Where the content of an answer is, while it comes and when it is stored. (What is learnt of it: `test_contacts`.)"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.proxy.exchange.test_contacts import NOW_S, PATIENCE_S, URL, Origin, client, content_of, ended, request
from tests.addon.store.memory_backend import open_memory_store
from tests.addon.store.waiting import until

LARGE = [bytes([number]) * (MEMORY_BYTES // 4) for number in range(12)]


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


def exchanges(store: Store, origin: Origin, budget: Budget) -> Exchanges:
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=8 * MEMORY_BYTES)
    return Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, lambda _: None, budget)


async def test_what_is_large_is_collected_in_a_file_read_from_it_and_stored(store: Store, tmp_path: Path) -> None:
    budget = Budget(64 * MEMORY_BYTES, tmp_path)
    asked = exchanges(store, Origin(*LARGE, length=sum(map(len, LARGE))), budget)
    answer = await answer_to(request(), client(), asked)
    await until(lambda: (budget.used_bytes, budget.file_bytes) == (0, sum(map(len, LARGE))))
    assert await content_of(answer) == b"".join(LARGE)
    await ended(asked)
    assert budget.file_bytes == 0
    hit = await answer_to(request(), client(), asked)
    assert await content_of(hit) == b"".join(LARGE)
    assert "; hit" in (hit.head.fields.get("cache-status") or "")


async def test_without_room_the_origin_waits_and_nothing_is_stored(store: Store) -> None:
    budget = Budget(MEMORY_BYTES)
    asked = exchanges(store, Origin(*LARGE, length=sum(map(len, LARGE))), budget)
    answer = await answer_to(request(), client(), asked)
    await asyncio.sleep(0.1)
    assert budget.used_bytes <= MEMORY_BYTES
    async with asyncio.timeout(PATIENCE_S):
        assert await content_of(answer) == b"".join(LARGE)
    await ended(asked)
    assert budget.used_bytes == 0
    assert (await store.copies(URL)).copies == ()


async def test_a_client_that_leaves_does_not_hold_what_was_collected(store: Store, tmp_path: Path) -> None:
    budget = Budget(64 * MEMORY_BYTES, tmp_path)
    asked = exchanges(store, Origin(*LARGE, length=sum(map(len, LARGE))), budget)
    answer = await answer_to(request(), client(), asked)
    answer.finish(0, complete=False)
    await ended(asked)
    assert budget.file_bytes == budget.used_bytes == 0
    assert len((await store.copies(URL)).copies) == 1, "it was collected to its end all the same"


class Page:
    """A page without validator and lifetime, which is never stored; it may be a feed to learn from all the same."""

    def __init__(self, content: bytes, *, announced: bool) -> None:
        self.content = content
        self.announced = announced

    async def fetch(self, *_: Any, **__: Any) -> Fetched:
        head = Head(200, Fields([("Date", format_http_date(NOW_S)), ("Content-Type", "text/html")]))
        return Fetched(head, NOW_S, NOW_S, self._pieces(), len(self.content) if self.announced else None)

    async def _pieces(self) -> AsyncGenerator[bytes]:
        for at in range(0, len(self.content), 3000):
            yield self.content[at : at + 3000]


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
async def test_a_feed_that_is_not_stored_is_read_up_to_the_size_of_what_may_be(
    store: Store, announced: bool, more: int, is_read: bool
) -> None:
    feed = b"<rss><channel><title>t</title><item><guid>1</guid></item></channel></rss>".ljust(10_000 + more)
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    origin, answered = Page(feed, announced=announced), list[Answered]()
    asked = Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, answered.append)
    assert await content_of(await answer_to(request(), client(), asked)) == feed
    await ended(asked)
    record = await store.record(URL)
    assert record is not None
    assert (record.feed is not None) is is_read
    assert [one.stored for one in answered] == [False]


@pytest.mark.parametrize("second_leaves", [False, True])
async def test_a_feed_that_two_wait_for_is_fetched_once_and_held_by_neither_for_long(
    store: Store, tmp_path: Path, second_leaves: bool
) -> None:
    """Both wait for all of it, since its head gets an entity tag of ours."""
    feed = b"<rss><channel><item><guid>1</guid></item></channel></rss>"
    origin = Origin(feed[:20], feed[20:], media_type="application/rss+xml", length=len(feed))
    origin.goes_on.clear()
    budget = Budget(64 * MEMORY_BYTES, tmp_path)
    asked = exchanges(store, origin, budget)
    both = [asyncio.create_task(answer_to(request(), client(), asked)) for _ in range(2)]
    for _ in range(5):
        await asyncio.sleep(0)
    origin.goes_on.set()
    async with asyncio.timeout(PATIENCE_S):
        first, second = await asyncio.gather(*both)
        assert await content_of(first) == feed
        if second_leaves:
            second.finish(0, complete=False)
        else:
            assert await content_of(second) == feed
    await ended(asked)
    assert (origin.asked, budget.used_bytes, budget.file_bytes) == (1, 0, 0)


async def test_who_joins_and_leaves_does_not_hold_up_the_rest(store: Store) -> None:
    """What they share is larger than what may be in memory, so that the origin waits for the slowest reader."""
    origin, budget = Origin(*LARGE, length=sum(map(len, LARGE))), Budget(MEMORY_BYTES)
    origin.goes_on.clear()
    asked = exchanges(store, origin, budget)
    first = await answer_to(request(), client(), asked)
    second = await answer_to(request(), client(), asked)
    second.finish(0, complete=False)
    origin.goes_on.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await content_of(first) == b"".join(LARGE)
    await ended(asked)
    assert (origin.asked, budget.used_bytes) == (1, 0)
