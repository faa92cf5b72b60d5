"""What was learnt is the same after a backup and its restoration, on real servers."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.store.backup.entries import SavedKey
from bestbefore.addon.store.opening import open_store

URLS = ("http://www.example.org/a", "http://www.example.org/b?{c}", "https://example.net/a", "http://192.0.2.1/")
contacts = st.lists(st.tuples(st.sampled_from(URLS), st.integers(1, 10**6), st.integers(0, 2)), max_size=12)


async def learn(store, seen):
    now_s = RealClock().now() - 2e6
    for url, after_s, version in seen:
        await store.learn(Observation(url, now_s + after_s, "", Fingerprint(body=str(version))))
        store.requested(url)
    assert await store.flush()


async def state(store):
    """All that was learnt, without what is left to live; and the counts of the group of all."""
    store.regroup()
    saved = [entry async for entry in store.saved()]
    plain = [replace_live(entry) for entry in saved]
    counts = await store.group("all", lambda host: True)
    return sorted(map(repr, plain)), saved, (dict(counts.updates), dict(counts.starts), counts.rates)


def replace_live(entry):
    live_ms = entry.live_ms > 0 if isinstance(entry, SavedKey) else 0
    items = sorted(zip(entry.items[::2], entry.items[1::2], strict=True)) if isinstance(entry, SavedKey) else ()
    return (entry.name, live_ms, items) if isinstance(entry, SavedKey) else entry


async def through(url, empty, before, later):
    store = await open_store(url, clock=RealClock())
    await learn(store, before)
    known, saved, counts = await state(store)
    await store.close()
    empty()
    store = await open_store(url, clock=RealClock())
    await store.restore(saved)
    assert await store.restore(saved) == (0, 0)
    assert (await state(store))[::2] == (known, counts)
    await learn(store, later)
    after = (await state(store))[::2]
    assert await store.restore(saved) == (0, 0), "what was learnt later stays"
    assert (await state(store))[::2] == after
    await store.close()


@given(before=contacts, later=contacts)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_restored_store_knows_the_same(valkey, before, later):
    with valkey.client as client:
        client.flushall()
        asyncio.run(through(valkey.url, client.flushall, before, later))


def test_in_a_cluster_it_does_too(cluster):
    def empty():
        for node in cluster:
            with node.client as client:
                client.flushall()

    seen = [(url, n * 1000 + 1, n % 3) for n, url in enumerate(URLS * 3)]
    asyncio.run(through(cluster[0].url, empty, seen, seen[:2]))


def test_an_entry_that_was_made_up_is_refused_before_anything_is_written(valkey):
    async def run():
        store = await open_store(valkey.url, clock=RealClock())
        good = SavedKey("bb1:positions", -1, (b"a", b"b"))
        for name in ("bb1:tombstones", "other", "bb1:{example.org#05}:hosts"):
            with pytest.raises(ValueError, match="which this version does not save"):
                await store.restore([good, replace_name(good, name)])
        assert await store.positions.get("a") is None
        await store.close()

    asyncio.run(run())


def replace_name(entry, name):
    return SavedKey(name, entry.live_ms, entry.items)
