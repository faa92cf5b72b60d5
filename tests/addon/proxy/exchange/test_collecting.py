"""Where the content of an answer is, while it comes and when it is stored. (What is learnt of it: `test_contacts`.)"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.proxy.exchange.test_contacts import NOW_S, PATIENCE_S, URL, Origin, client, content_of, ended, request

LARGE = [bytes([number]) * (MEMORY_BYTES // 4) for number in range(12)]


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_store("memory", clock=ManualClock(NOW_S), domain_of=registrable_domain)
    yield made
    await made.close()


def exchanges(store: Store, origin: Origin, budget: Budget) -> Exchanges:
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=8 * MEMORY_BYTES)
    return Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, lambda _: None, budget)


async def test_what_is_large_is_collected_in_a_file_read_from_it_and_stored(store: Store, tmp_path: Path) -> None:
    budget = Budget(64 * MEMORY_BYTES, tmp_path)
    asked = exchanges(store, Origin(*LARGE, length=sum(map(len, LARGE))), budget)
    answer = await answer_to(request(), client(), asked)
    await asyncio.sleep(0.3)
    assert budget.used_bytes == 0
    assert budget.file_bytes == sum(map(len, LARGE))
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
