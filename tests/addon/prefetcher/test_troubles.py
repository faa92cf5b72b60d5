from collections.abc import AsyncIterator

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.prefetcher.troubles import Troubles, wait_after
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.store import Store
from bestbefore.addon.store.trouble import Trouble
from bestbefore.policies.prefetch.online.estimate import SHORTEST_S
from bestbefore.policies.units import DAY_S
from tests.addon.store.memory_backend import open_memory_store

FEED, OTHER, SECRET = "http://a.example/feed", "http://a.example/other", "http://a.example/feed?token=1"
NOW_S = 1_706_227_200.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_S)


@pytest.fixture
async def store(clock: ManualClock) -> AsyncIterator[Store]:
    made = await open_memory_store(clock=clock)
    yield made
    await made.close()


async def test_the_store_has_the_last_trouble_of_each_watched_object(clock: ManualClock, store: Store) -> None:
    troubles = Troubles({FEED, SECRET}, clock)
    troubles.failed(FEED, "status 404", NOW_S)
    troubles.failed(OTHER, "status 500", NOW_S)  # not watched
    await troubles.write(store.planning)
    assert await store.planning.troubles() == {
        FEED: Trouble("status 404", NOW_S, 1, NOW_S + SHORTEST_S), SECRET: Trouble("secret-in-query", NOW_S),
    }
    troubles.failed(FEED, "unanswered", NOW_S + 60.0)
    troubles.failed(FEED, "robots", NOW_S + 70.0, NOW_S + DAY_S)
    await troubles.write(store.planning)
    assert (await store.planning.troubles())[FEED] == Trouble("robots", NOW_S + 70.0, 3, NOW_S + DAY_S)


def test_the_wait_doubles_with_each_failure_to_a_day(clock: ManualClock) -> None:
    troubles = Troubles({FEED}, clock)
    assert troubles.wait_s(FEED) is None
    waits_s = []
    for _ in range(10):
        troubles.failed(FEED, "status 500", NOW_S)
        waits_s.append(troubles.wait_s(FEED))
    assert waits_s == [300.0 * 2**i for i in range(9)] + [DAY_S]
    assert wait_after(10**6) == DAY_S
    troubles.fetched(FEED, NOW_S + 1.0)
    assert troubles.wait_s(FEED) is None


async def test_a_client_that_gets_the_object_ends_the_trouble(clock: ManualClock, store: Store) -> None:
    troubles = Troubles({FEED}, clock)
    troubles.failed(FEED, "status 500", NOW_S)

    async def see(status: int, current_s: float) -> None:
        store.put(Copy(FEED, Head(status, Fields()), BodyRef("d", 4), *[current_s] * 4), None)
        await troubles.recheck(FEED, store)

    await see(200, NOW_S - 1.0)
    await see(404, NOW_S + 1.0)
    assert troubles.wait_s(FEED) == SHORTEST_S
    await see(200, NOW_S + 2.0)
    assert troubles.wait_s(FEED) is None


async def test_another_process_goes_on_with_the_wait(clock: ManualClock, store: Store) -> None:
    before, after = Troubles({FEED}, clock), Troubles({FEED}, clock)
    for at_s in (NOW_S, NOW_S + 300.0):
        before.failed(FEED, "unanswered", at_s)
    await before.write(store.planning)
    await after.read(store.planning)
    assert after.wait_s(FEED) == 2 * SHORTEST_S
    after.failed(FEED, "unanswered", NOW_S + 900.0)
    await after.read(store.planning)
    assert after.wait_s(FEED) == 4 * SHORTEST_S, "what it knows is later"


async def test_a_trouble_of_an_earlier_process_ends_with_the_first_fetch(clock: ManualClock, store: Store) -> None:
    before, after = Troubles({FEED}, clock), Troubles({FEED}, clock)
    before.failed(FEED, "unanswered", NOW_S)
    await before.write(store.planning)
    after.fetched(FEED, NOW_S)
    await after.write(store.planning)
    assert await store.planning.troubles() == {}
    after.fetched(FEED, NOW_S)
    after.failed(FEED, "broken-off", NOW_S)
    await after.write(store.planning)
    assert list(await store.planning.troubles()) == [FEED]


async def test_what_is_forgotten_leaves_no_trouble(clock: ManualClock, store: Store) -> None:
    troubles = Troubles({FEED}, clock)
    troubles.failed(FEED, "unanswered", NOW_S)
    await troubles.write(store.planning)
    await store.planning.forget(lambda url: url == FEED)
    assert await store.planning.troubles() == {}
