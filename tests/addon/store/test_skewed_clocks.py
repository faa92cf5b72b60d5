"""Proxies whose clocks differ, on one store: a purge holds in each, whichever purges, and whichever has stored."""

import asyncio
import time

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.interface import UnavailableError
from tests.addon.store.waiting import until

URL, PATTERN = "http://www.example.org/a", "*.example.org"
SKEWS_S = [-3600.0, 3600.0, -0.5, 0.5, 200 * 86_400.0, -200 * 86_400.0]


class SkewedClock(RealClock):
    """One that is ahead of the right time by so much."""

    def __init__(self, skew_s):
        self.skew_s = skew_s

    def now(self):
        return time.time() + self.skew_s


@pytest.fixture(params=[*SKEWS_S[:2], *(pytest.param(skew_s, marks=pytest.mark.slow) for skew_s in SKEWS_S[2:])])
async def proxies(request, open_a_store, valkey):
    """One with the right time, and one whose clock is wrong."""
    return [await open_a_store(valkey.url, clock=SkewedClock(skew_s)) for skew_s in (0.0, request.param)]


def fetched(store, copy_of, body, url=URL, before_s=0.0):
    """A copy that this proxy fetches now, or has begun to fetch a while ago."""
    return copy_of(url, body, store._clock.now() - before_s)


async def served(store, url=URL):
    """What a client of this proxy would get from the store."""
    found = await store.copies(url)
    return [await store.body(copy) for copy in found.copies if not store.is_dead(copy)]


@pytest.mark.parametrize("pattern", [URL, PATTERN])
@pytest.mark.parametrize("storing", [0, 1])
@pytest.mark.parametrize("purging", [0, 1])
async def test_a_purge_by_any_holds_for_what_any_has_stored_and_for_nothing_later(
    proxies, copy_of, storing, purging, pattern
):
    store, purger = proxies[storing], proxies[purging]
    store.put(fetched(store, copy_of, b"old"), b"old")
    await store.flush()
    assert [await served(proxy) for proxy in proxies] == [[b"old"]] * 2  # in memory in both now
    begun = [fetched(proxy, copy_of, b"under way") for proxy in proxies]
    assert await purger.purge(pattern) == 1
    await until(lambda: all(proxy.hot(URL) is None for proxy in proxies))
    assert [await served(proxy) for proxy in proxies] == [[], []]
    for proxy, copy in zip(proxies, begun, strict=True):
        assert proxy.is_dead(copy)
        proxy.put(copy, b"under way")
        await proxy.flush()
    assert [await served(proxy) for proxy in proxies] == [[], []]

    # What each fetches from now on is stored, and served by the other too.
    for n, proxy in enumerate(proxies):
        await asyncio.sleep(0.002)
        body = b"new %d" % n
        url = f"{URL}/{n}" if pattern == PATTERN else URL
        copy = fetched(proxy, copy_of, body, url)
        assert not proxy.is_dead(copy)
        proxy.put(copy, body)
        await proxy.flush()
        assert await served(proxy, url) == [body]
        other = proxies[1 - n]
        if pattern == PATTERN:
            assert await served(other, url) == [body]
        await proxy.purge(url)
        await until(lambda url=url, other=other: other.hot(url) is None)


@pytest.mark.parametrize("purging", [0, 1])
async def test_a_copy_that_is_validated_while_it_is_purged_does_not_come_back(proxies, copy_of, purging):
    for storing in (0, 1):
        store, other = proxies[storing], proxies[1 - storing]
        url = f"{URL}/{storing}"
        store.put(fetched(store, copy_of, b"old", url), b"old")
        await store.flush()
        (read,) = (await other.copies(url)).copies
        await proxies[purging].purge(url)
        await until(lambda url=url: all(proxy.hot(url) is None for proxy in proxies))
        other.put(read, None)
        store.put(fetched(store, copy_of, b"old", url, before_s=1.0), b"old")
        assert await other.flush()
        assert await store.flush()
        assert [await served(proxy, url) for proxy in proxies] == [[], []]


async def test_what_a_proxy_writes_before_it_gets_a_tombstone_does_not_return(proxies, copy_of):
    right, wrong = proxies
    for url, pattern in ((URL, URL), ("http://b.example.org/", PATTERN)):
        # As if the message were still on its way: the other writes what it fetched before.
        waiting, applied = fetched(wrong, copy_of, b"old", url), wrong._tombstones.applied_number
        delayed = wrong.invalidation._published = []
        await right.purge(pattern)
        wrong.put(waiting, b"old")
        await wrong.flush()
        assert await served(right, url) == []
        await until(lambda delayed=delayed: delayed)
        wrong.invalidation._published = None
        for tombstone in delayed:
            wrong.invalidation._receive(tombstone)
        assert wrong._tombstones.applied_number > applied
        assert [await served(proxy, url) for proxy in proxies] == [[], []]
        assert not wrong.status().down


async def test_a_purge_while_one_is_cut_off_holds_when_it_is_back(proxies, copy_of):
    for purger, cut in (proxies, proxies[::-1]):
        cut.put(fetched(cut, copy_of, b"old"), b"old")
        await cut.flush()
        await cut._link.backend.close()  # it receives nothing from here on
        await purger.purge(URL)
        assert cut.hot(URL) is not None
        cut.put(fetched(cut, copy_of, b"old", before_s=1.0), b"old")
        cut._link.mark_down(UnavailableError("cut off"))
        await cut._link.up.wait()
        assert cut.hot(URL) is None
        await cut.flush()
        assert [await served(proxy) for proxy in proxies] == [[], []]
        await asyncio.sleep(0.002)
        cut.put(fetched(cut, copy_of, b"new"), b"new")
        await cut.flush()
        assert [await served(proxy) for proxy in proxies] == [[b"new"], [b"new"]]


async def test_one_that_comes_later_gets_what_was_stored_after_and_nothing_from_before(
    proxies, open_a_store, valkey, copy_of
):
    right, wrong = proxies
    for purger, store in ((right, wrong), (wrong, right)):
        store.put(fetched(store, copy_of, b"old"), b"old")
        await store.flush()
        await purger.purge(PATTERN)
        await until(lambda store=store: store.hot(URL) is None)
        await asyncio.sleep(0.002)
        store.put(fetched(store, copy_of, b"new"), b"new")
        await store.flush()
        for skew_s in (0.0, -3600.0, 3600.0):
            later = await open_a_store(valkey.url, clock=SkewedClock(skew_s))
            assert await served(later) == [b"new"]
            assert not later.is_dead((await later.copies(URL)).copies[0])


@pytest.mark.parametrize("pattern", [URL, PATTERN])
@pytest.mark.parametrize("learning", [0, 1])
@pytest.mark.parametrize("forgetting", [0, 1])
async def test_what_any_has_learnt_is_forgotten_by_any_and_what_it_learns_later_is_not(
    proxies, observe, learning, forgetting, pattern
):
    learner, forgetter = proxies[learning], proxies[forgetting]
    for body in "ab":
        await learner.learn(observe(URL, learner._clock.now(), body))
        await asyncio.sleep(0.001)
    await learner.flush()
    assert [(await proxy.record(URL)).contacts for proxy in proxies] == [2, 2]
    assert await forgetter.forget(pattern) == 1
    await until(lambda: len({proxy._tombstones.applied_number for proxy in proxies}) == 1)
    assert [await proxy.record(URL) for proxy in proxies] == [None, None]
    await asyncio.sleep(0.002)
    await learner.learn(observe(URL, learner._clock.now(), "c"))
    await learner.flush()
    assert (await learner.record(URL)).contacts == 1
    other = proxies[1 - learning]
    other._histories._remembered.clear()
    assert (await other.record(URL)).contacts == 1
