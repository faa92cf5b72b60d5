"""What was not contacted is forgotten, with what it gave the counts of its group."""

import pytest

from bestbefore.addon.clock import ManualClock

DAY_S = 86_400.0


@pytest.fixture
def clock():
    return ManualClock(1e9)


@pytest.fixture
async def store(where, open_a_store, clock):
    return await open_a_store(where, clock=clock, forget_after_s=180 * DAY_S)


async def counts(store):
    store.regroup()
    found = await store.group("all", lambda host: True)
    return sum(found.updates.values()), sum(found.starts.values())


async def test_objects_untouched_for_long_are_forgotten_and_the_others_stay(store, clock, observe):
    for url, last_s in (("http://a/", 0), ("http://b/", 100 * DAY_S)):
        await store.learn(observe(url, 1e9, "a"))
        await store.learn(observe(url, 1e9 + 10 + last_s, "b"))
    await store.flush()
    clock.advance(170 * DAY_S)
    await store._sweep.once()
    assert await counts(store) == (2, 2)
    clock.advance(11 * DAY_S)
    await store._sweep.once()
    assert [url async for url in store.urls()] == ["http://b/"]
    assert await counts(store) == (1, 1)


@pytest.mark.parametrize("restarted", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_a_clock_that_leaps_and_comes_back_forgets_nothing(open_a_store, where, clock, observe, restarted):
    store = await open_a_store(where, clock=clock, forget_after_s=180 * DAY_S)

    async def sweep(store):
        if restarted and where != "memory":
            await store.close()
            store = await open_a_store(where, clock=clock, forget_after_s=180 * DAY_S)
        await store._sweep.once()
        return store

    for body, t_s in (("a", 1e9), ("b", 1e9 + 10)):
        await store.learn(observe("http://a/", t_s, body))
    await store.flush()
    for _ in range(20):
        clock.advance(DAY_S)
        store = await sweep(store)
    right_s = clock.now()
    for leap_s in (200 * DAY_S, 1000 * DAY_S):
        clock.set(right_s + leap_s)
        for _ in range(50):
            clock.advance(3 * 3600.0)  # six days
            store = await sweep(store)
        assert (await store.record("http://a/")).contacts == 2
        clock.set(right_s)
        store = await sweep(store)
        for _ in range(3):
            clock.advance(DAY_S)
            store = await sweep(store)
        assert await counts(store) == (1, 1)

    clock.set(1e9 + 181 * DAY_S)
    for _ in range(6):
        clock.advance(DAY_S)
        store = await sweep(store)
    assert await counts(store) == (1, 1)
    for _ in range(2):
        clock.advance(DAY_S)
        store = await sweep(store)
    assert await counts(store) == (0, 0), "it has stayed so for a week"


async def test_one_that_is_contacted_meanwhile_is_not_forgotten(store, clock, observe):
    await store.learn(observe("http://a/", 1e9, "a"))
    await store.flush()
    clock.advance(181 * DAY_S)
    await store.learn(observe("http://a/", clock.now(), "b"))
    await store._sweep.once()  # finds the record as it was before
    await store.flush()
    record = await store.record("http://a/")
    assert (record.last_contact_s, record.contacts in (1, 2)) == (clock.now(), True)
    await store._sweep.once()
    assert await store.record("http://a/") == record


async def test_bodies_that_nothing_refers_to_are_removed(open_a_store, tmp_path, copy_of):
    large = bytes(100_000)
    store = await open_a_store("embedded", state=tmp_path)
    store.put(copy_of("http://a/", large), large)
    store.put(copy_of("http://b/", large + b"2"), large + b"2")
    await store.flush()
    await store.purge("http://a/")
    await store.close()
    store = await open_a_store("embedded", state=tmp_path)
    await store._sweep.once()
    assert [path.stat().st_size for path in (tmp_path / "bodies").glob("*/*")] == [100_001]


async def test_of_two_proxies_on_one_store_one_sweeps_until_it_does_no_longer(open_a_store, valkey, clock):
    one, two = [await open_a_store(valkey.url, clock=clock, sweeps=False) for _ in range(2)]
    for store in (one, two):
        await store._link.up.wait()
    with valkey.client as client:

        async def swept(store):
            client.config_resetstat()
            await store._sweep.once(3600.0)
            return "cmdstat_memory|usage" in client.info("commandstats")

        assert [await swept(store) for store in (one, two, one, two)] == [True, False, False, False]
        assert two.status().store_bytes == one.status().store_bytes > 0
        client.hincrby("bb1:sweep", "begun_ms", -3_600_000)  # an hour later, and the first has ended
        assert [await swept(store) for store in (two, one)] == [True, False]
        client.hset("bb1:sweep", "begun_ms", "9000000000000000")  # later than now: a clock was set back
        assert await swept(two)
