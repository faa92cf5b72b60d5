"""When the store is opened for pages, and when it is closed."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.store import Store
from bestbefore.addon.workers.kept_store import KeptStore
from tests.addon.store.memory_backend import open_memory_store


def opening(opened: list[Store]) -> Callable[[], Awaitable[Store]]:
    async def one() -> Store:
        await asyncio.sleep(0)
        opened.append(await open_memory_store(clock=RealClock(), forget_after_s=1e12))
        return opened[-1]

    return one


async def test_pages_share_a_store_until_some_time_after_the_last() -> None:
    opened: list[Store] = []
    kept = KeptStore(opening(opened), kept_s=0.02)

    async def page() -> Store:
        async with kept.used() as store:
            await asyncio.sleep(0.001)
            return store

    assert {*await asyncio.gather(page(), page()), await page()} == {opened[0]}
    assert kept._closing is not None
    await kept._closing
    assert opened[0]._closed
    async with kept.used() as again:
        await asyncio.sleep(0.04)  # longer than it is kept unused
        assert opened == [opened[0], again]
        assert not again._closed
    await kept.close()
    assert again._closed
    await kept.close()


async def test_a_store_that_does_not_open_is_tried_again() -> None:
    opened: list[Store] = []
    failures = [StoreUnusableError("not yet")]

    async def open_second() -> Store:
        if failures:
            raise failures.pop()
        return await opening(opened)()

    kept = KeptStore(open_second)
    with pytest.raises(StoreUnusableError):
        async with kept.used():
            pass
    async with kept.used() as store:
        assert opened == [store]
    await kept.close()
