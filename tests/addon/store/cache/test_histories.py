"""Whatever proxies learn, and in whatever order they write: the counts are those of the records."""

import asyncio
import time
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.update import hour_of
from bestbefore.addon.store.cache import histories as module
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.histories import Histories
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.tombstones import Tombstones
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import MemoryBackend

URLS = ["http://a.example.org/1", "http://a.example.org/2", "http://b.example.org/1"]
LABELS = ['"x"@http://a.example.org', '"y"@http://a.example.org']
CONTACT = st.tuples(
    st.integers(0, 1), st.sampled_from(URLS), st.sampled_from("abc"), st.booleans(), st.none() | st.integers(0, 40),
    st.sampled_from(["", *LABELS]),
)
STEP = st.one_of(CONTACT, CONTACT, st.sampled_from(["flush 0", "flush 1", "look", "regroup", "back", "forget"]))


class SharedBackend(MemoryBackend):
    """Tells all its stores what is forgotten, as a server does."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self._stores = []

    async def connect(self, on_tombstone, on_lost):
        self._stores.append(on_tombstone)

    async def add_tombstones(self, tombstones, applied=0):
        for store in self._stores:
            for tombstone in tombstones:
                store(tombstone)
        return await super().add_tombstones(tombstones)


async def counts_of_records(store, label):
    updates, starts = Counter(), Counter()
    for url in URLS:
        record = await store.record(url)
        if record is not None and record.counted and label in (None, record.cache_group):
            updates.update(hour_of(update.point_s) for update in record.updates)
            updates.update(dict(record.folded))
            starts[hour_of(record.since_s)] += 1
    return dict(updates), dict(starts)


async def counts_of_group(store, label):
    counts = await store.group(label or "g", (lambda _: True) if label is None else label.__eq__)
    return dict(counts.updates), dict(counts.starts)


async def check_counts(store):
    for label in (None, *LABELS):
        assert await counts_of_group(store, label) == await counts_of_records(store, label)


def seen_at(now_s, url, body, counted, listed, label):
    lists = {} if listed is None else {"reported_s": (1e6 + 300.0 * listed,), "reported_since_s": 1e6}
    return Observation(url, now_s, "", Fingerprint(body=body), counted, cache_group=label, **lists)


async def looked_up(store):
    """As before contacts, which may not follow."""
    for url in URLS:
        await store.look_up(url, copies=False)


async def regrouped(store):
    store.regroup()


async def live(steps):
    clock = ManualClock(1e6)
    backend = SharedBackend(clock, max_bytes=10**6)
    stores = [
        Store(backend, clock=clock, hot_max=10**6, keep_s=1.0, forget_after_s=1e9)
        for _ in range(2)
    ]
    for store in stores:
        await store._write_behind._try_to_connect()  # without its tasks: the steps alone decide what is written when
    forgotten_s = 0.0
    for step in steps:
        clock.advance(600)
        match step:
            case "flush 0" | "flush 1":
                await stores[int(step[-1])]._write_behind._write_round()
            case "look" | "regroup":
                for store in stores:
                    await (looked_up(store) if step == "look" else regrouped(store))
            case "back":  # and not to before a moment up to which something is forgotten
                clock.set(max(clock.now() - 7200, forgotten_s + 1))
            case "forget":
                forgotten_s = clock.now()
                await stores[0].forget(URLS[0])
            case (n, *contact):
                await stores[n].learn(seen_at(clock.now(), *contact))
    await written_and_counted(stores)
    return stores


async def written_and_counted(stores):
    for _ in range(3):
        for store in stores:
            await store.flush()
    for store in stores:
        assert store.status().pending_observations == 0
        store.regroup()
        await check_counts(store)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(STEP, max_size=25))
def test_the_counts_of_a_group_are_always_those_of_its_records(steps):
    asyncio.run(live(steps))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.one_of(CONTACT.map(lambda c: (0, *c[1:])), st.just("flush 0")), max_size=20))
def test_for_one_proxy_they_are_so_at_every_moment(steps):
    async def run():
        clock = ManualClock(1e6)
        backend = MemoryBackend(clock, max_bytes=10**6)
        store = Store(backend, clock=clock, hot_max=10**6, keep_s=1, forget_after_s=1e9)
        await store._write_behind._try_to_connect()
        for step in steps:
            clock.advance(600)
            if step == "flush 0":
                await store.flush()
            else:
                await store.learn(seen_at(clock.now(), *step[1:]))
            await check_counts(store)

    asyncio.run(run())


def histories():
    clock, notices, faults = ManualClock(1e9), Notices(), Faults(time.monotonic)
    backend = MemoryBackend(clock, max_bytes=10_000)
    link = Link(backend, clock, notices)
    link.mark_up()
    return Histories(link, Tombstones(faults), notices, faults, lambda host, gain: None), backend


def seen(n, **known):
    return Observation(f"http://a.example.org/{n}", 1e9, "", Fingerprint(body="a"), **known)


async def test_too_many_observations_are_dropped_until_some_were_written(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr(module, "WAITING_OBSERVATIONS", 2)
    kept, backend = histories()
    for n in range(3):
        await kept.learn(seen(n), 1e9)
    assert (kept.waiting, kept.lost) == (2, 1)
    assert [record.message for record in caplog.records] == [
        "too many observations wait for the store: new ones are dropped"
    ]
    await kept.write(backend)
    assert caplog.records[-1].message == "new observations are kept again"
    await kept.learn(seen(3), 1e9)
    assert (kept.waiting, kept.lost) == (1, 1)


async def test_a_record_that_changes_while_it_is_read_is_not_kept():
    clock = ManualClock(1e6)
    backend = MemoryBackend(clock, max_bytes=10**6)
    store = Store(backend, clock=clock, hot_max=10**6, keep_s=1.0, forget_after_s=1e9)
    await store._write_behind._try_to_connect()
    await store.learn(seen_at(clock.now(), URLS[0], "a", True, None, None))
    read = backend.look_up

    async def read_before_the_write(url, **given):
        found = await read(url, **given)
        await store.flush()
        return found

    backend.look_up = read_before_the_write
    await store.look_up(URLS[0], copies=False)
    clock.advance(600)
    change = await store.learn(seen_at(clock.now(), URLS[0], "b", True, None, None))
    assert change.record.contacts == 2
