"""The store in memory is bounded."""

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend import memory
from bestbefore.addon.store.backend.interface import Commit, GroupCounts, Put
from bestbefore.addon.store.backend.memory import MemoryBackend


def made(max_bytes=100_000):
    clock = ManualClock(1e9)
    return clock, MemoryBackend(clock, registrable_domain, max_bytes=max_bytes)


async def test_the_copies_used_least_lately_leave(copy_of):
    _, backend = made()
    urls = [f"http://a/{i}" for i in range(30)]
    for url in urls:
        await backend.put([Put(copy_of(url, bytes(5_000)), 1000.0, bytes(5_000))])
        await backend.copies(urls[0])
    assert [bool(await backend.copies(url)) for url in (urls[0], urls[1], urls[-1])] == [True, False, True]
    assert backend.size_bytes <= 100_000


async def test_a_copy_larger_than_all_the_room_is_not_kept(copy_of):
    _, backend = made()
    await backend.put([Put(copy_of("http://a/", bytes(200_000)), 1000.0, bytes(200_000))])
    assert await backend.copies("http://a/") == []


async def test_copies_live_by_the_monotonic_clock(copy_of):
    clock, backend = made()
    await backend.put([Put(copy_of("http://a/"), 60.0, b"hello")])
    clock.set(9e9)
    clock.advance(60)
    assert len(await backend.copies("http://a/")) == 1
    clock.advance(1)
    assert await backend.copies("http://a/") == []


async def test_the_records_used_least_lately_leave(monkeypatch):
    monkeypatch.setattr(memory, "RECORDS_KEPT", 3)
    _, backend = made()
    for i in range(5):
        url = f"http://a/{i}"
        await backend.commit([Commit(url, b"", Record(url, 1.0, 2.0), GroupCounts({}, {}))])
        await backend.records(["http://a/0"])
    known = [found.record is not None for found in await backend.records([f"http://a/{i}" for i in range(5)])]
    assert known == [True, False, False, True, True]


async def test_one_that_becomes_too_large_leaves(copy_of):
    """Else the one before it would be taken for the latest."""
    _, backend = made()
    for size in (5_000, 200_000):
        await backend.put([Put(copy_of("http://a/", bytes(size)), 1000.0, bytes(size))])
    assert await backend.copies("http://a/") == []
