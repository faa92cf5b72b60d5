from collections.abc import AsyncIterator

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.prefetcher.troubles import Troubles
from bestbefore.addon.store.store import Store
from bestbefore.addon.store.trouble import Trouble
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
    troubles.note(FEED, "status 404")
    troubles.note(OTHER, "status 500")  # not watched
    await troubles.write(store.planning)
    assert await store.planning.troubles() == {
        FEED: Trouble("status 404", NOW_S), SECRET: Trouble("secret-in-query", NOW_S),
    }
    clock.advance(60.0)
    troubles.note(FEED, "unanswered")
    await troubles.write(store.planning)
    assert (await store.planning.troubles())[FEED] == Trouble("unanswered", NOW_S + 60.0)


async def test_a_trouble_of_an_earlier_process_ends_with_the_first_fetch(clock: ManualClock, store: Store) -> None:
    before, after = Troubles({FEED}, clock), Troubles({FEED}, clock)
    before.note(FEED, "unanswered")
    await before.write(store.planning)
    after.note(FEED, "")
    await after.write(store.planning)
    assert await store.planning.troubles() == {}
    after.note(FEED, "")
    after.note(FEED, "broken-off")
    await after.write(store.planning)
    assert list(await store.planning.troubles()) == [FEED]


async def test_what_is_forgotten_leaves_no_trouble(clock: ManualClock, store: Store) -> None:
    troubles = Troubles({FEED}, clock)
    troubles.note(FEED, "unanswered")
    await troubles.write(store.planning)
    await store.planning.forget(lambda url: url == FEED)
    assert await store.planning.troubles() == {}
