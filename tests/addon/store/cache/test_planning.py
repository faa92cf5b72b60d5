"""The side of prefetching when its backend goes away: known at once, and jobs go on in memory."""

import asyncio
import logging

import pytest

from bestbefore.addon.clock import ManualClock, RealClock
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import UnavailableError, UnwritableError
from bestbefore.addon.store.backend.keeper import WANTS_KEPT_DAYS, digest_of, shard_of
from bestbefore.addon.store.backend.redis import RedisBackend
from bestbefore.addon.store.cache import pending_counts
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.planning import MADE_KEPT_S, Planning
from bestbefore.addon.store.candidate import Candidate
from tests.addon.store.memory_backend import MemoryBackend

URL = "http://www.example.org/a"
DAY_S = 86_400.0


@pytest.fixture
async def server(start_valkey):
    return start_valkey()


@pytest.fixture
async def link(server):
    """To a server of its own; what listens to it says nothing, so that only a question can find that it is gone."""
    clock = RealClock()
    backend = RedisBackend(
        Connection(server.url), clock, clock_mark="real", forget_after_s=180 * 86_400.0
    )
    await backend.connect(lambda tombstone: None, lambda error: None)
    made = Link(backend, clock, Notices())
    made.mark_up()
    yield made
    await backend.close()


async def test_a_read_that_finds_the_backend_down_marks_the_link(link, server):
    clock = RealClock()
    planning = Planning(link, clock, Faults(clock.monotonic))
    assert await planning.hold("me", 60.0)
    server.kill()
    assert not link.down
    assert await planning.hold("me", 60.0) is None
    assert link.down
    assert link.last_error
    assert not link.up.is_set()
    assert link.work.is_set(), "it is looked for again"
    assert await planning.take(URL, "me", 60.0, 1.0) == 0.0, "in memory"
    assert await planning.take(URL, "another", 60.0, 1.0) < 0.0


@pytest.fixture
def clock():
    return ManualClock(100 * DAY_S)


@pytest.fixture
def alone(clock):
    """Planning on a store in memory."""
    link = Link(MemoryBackend(clock, max_bytes=10_000), clock, Notices())
    link.mark_up()
    return Planning(link, clock, Faults(clock.monotonic))


def test_where_nothing_is_wanted_nothing_waits(alone):
    assert not alone.wants.snapshot()()
    alone.want(URL, "")
    assert alone.wants.snapshot()()


async def test_wants_that_were_written_wait_no_more(alone):
    alone.want(URL, "")
    some = alone.wants.snapshot()
    await alone._link.read(alone.wants.write)
    alone.want(URL, "")
    assert (some(), alone.wants.waiting) == (False, 1)


def test_what_cannot_be_written_is_not_wanted(alone):
    alone.want("http://a/\udcff", "")
    assert alone.wants.waiting == 0


def test_wants_wait_up_to_a_bound(alone, monkeypatch):
    monkeypatch.setattr(pending_counts, "MAX_PENDING", 2)
    for url in ("http://a/1", "http://a/2", "http://a/3", "http://a/3"):
        alone.want(url, "")
    assert alone.wants.waiting == 2


@pytest.mark.parametrize("error", [UnavailableError("gone"), UnwritableError("no disk")])
async def test_wants_that_could_not_be_written_wait_with_those_that_came_meanwhile(alone, monkeypatch, error):
    alone.want(URL, "")

    async def add_wants(_day, _wants):
        alone.want(URL, "")
        raise error

    monkeypatch.setattr(alone._link.backend.keeper, "add_wants", add_wants)
    with pytest.raises(type(error)):
        await alone.wants.write(alone._link.backend)
    assert alone.wants.counts == {(URL, ""): 2}


async def test_a_want_that_cannot_be_written_even_alone_is_counted_as_a_fault(alone, monkeypatch):
    written = {}

    async def add_wants(_day, wants):
        if any("bad" in want.url for want in wants):
            raise ZeroDivisionError
        written.update(wants)
        return wants

    monkeypatch.setattr(alone._link.backend.keeper, "add_wants", add_wants)
    for name in ("1", "bad", "2"):
        alone.want(f"http://a/{name}", "")
    await alone.wants.write(alone._link.backend)
    assert sorted(want.url for want in written) == ["http://a/1", "http://a/2"]
    assert (alone.wants.waiting, alone.wants.faults.counts) == (0, {"wants": 1})


async def test_a_backend_that_refuses_writes_is_not_taken_for_one_that_is_down(alone, monkeypatch, caplog):
    async def take(*_):
        raise UnwritableError("no disk")

    monkeypatch.setattr(alone._link.backend.keeper, "take", take)
    with caplog.at_level(logging.DEBUG):
        assert await alone.take(URL, "me", 60.0, 1.0) == 0.0
    assert not alone._link.down
    assert "prefetching goes on in memory: no disk" in caplog.text


async def test_the_demand_is_that_of_the_last_days(alone, clock):
    first_s = clock.now()
    for days in (0, 1, WANTS_KEPT_DAYS - 1):
        clock.set(first_s + days * DAY_S)
        alone.want(URL, "")
        alone.want(URL, "loopback")
        await alone._link.read(alone.wants.write)
    assert await alone.asked([URL, "http://a/"], ("", "loopback")) == [{"": 3, "loopback": 3}, {}]
    assert [urls async for urls in alone.wanted() if urls] == 3 * [{URL}]
    clock.set(first_s + WANTS_KEPT_DAYS * DAY_S)
    assert await alone.asked([URL], ("",)) == [{"": 2}]


async def test_objects_are_looked_at_when_their_requests_of_a_day_begin_and_double(alone):
    grown = []
    for _ in range(9):
        alone.want(URL, "")
        await alone._link.read(alone.wants.write)
        grown.append(URL in alone.grown)
        alone.grown.clear()
    assert [n for n, one in enumerate(grown, 1) if one] == [1, 2, 4, 8]
    assert alone.has_grown.is_set()


async def test_candidates_come_back_as_they_were_put_and_others_are_faults(alone):
    candidate = Candidate(0.1, 5.0, 3, bytes(range(24)), 0.25, ("loopback",), 9.0)
    assert await alone.put_candidates({URL: candidate, "http://a/": candidate})
    assert await alone.put_candidates({"http://a/": None})
    await alone._link.backend.keeper.put_candidates({"http://b/": b"\xff"})
    found = {}
    for shard in range(256):
        async for part in alone.candidates(shard):
            found.update(part.items())
    assert found == {URL: candidate}
    assert alone.wants.faults.counts == {"value": 1}
    assert (await alone.candidate(URL), await alone.candidate("http://b/")) == (candidate, None)


async def test_what_is_forgotten_is_neither_wanted_nor_a_candidate_nor_fetched(alone):
    other, candidate = "http://www.example.org/b", Candidate(0.1, 5.0, 3, bytes(range(24)), 0.25)
    for url in (URL, other):
        alone.want(url, "")
        assert await alone.take(url, "me", 60.0, 0.0) == 0.0
        await alone.finish(url, "me")
        await alone.put_candidates({url: candidate})
    await alone.forget(lambda url: url == URL)
    assert [want.url for want in alone.wants.counts] == [other]
    assert (await alone.candidate(URL), await alone.candidate(other)) == (None, candidate)
    assert await alone.take(URL, "another", 60.0, 0.0) == 0.0
    assert await alone.take(other, "another", 60.0, 0.0) == -MADE_KEPT_S


async def test_without_the_backend_fetches_are_leased_spaced_and_counted_in_memory(alone, clock):
    alone._link.mark_down(UnavailableError("gone"))
    assert await alone.asked([URL], ("",)) is None
    assert await alone.hold("me", 60.0) is None
    assert not await alone.put_candidates({URL: None})
    assert [urls async for urls in alone.wanted()] == []
    assert await alone.announced(7) == ([], [], 7)
    assert await alone.take(URL, "me", 60.0, 10.0) == 0.0
    clock.advance(59.0)
    await alone.renew(URL, "me", 60.0)
    clock.advance(59.0)
    assert await alone.take(URL, "another", 60.0, 0.0) == -1.0
    await alone.release(URL, "me")
    assert await alone.take(URL, "another", 60.0, 0.0) == 0.0
    await alone.pause("example.org", 30.0)
    assert await alone.take(URL, "another", 60.0, 0.0) == 30.0
    assert [await alone.spend(period, 1, 2) for period in (1, 2, 3)] == [True, True, False]
    assert (await alone.spent(1), await alone.spent(2)) == (2, 1)


async def test_candidates_are_read_again_after_the_backend_was_down(alone, monkeypatch):
    candidate = Candidate(0.1, 5.0, 3, bytes(range(24)), 0.25)
    await alone.put_candidates({URL: candidate})
    keeper, failed = alone._link.backend.keeper, []
    real = keeper.candidates

    async def candidates(shard):
        if not failed:
            failed.append(shard)
            raise UnavailableError("gone")
        async for part in real(shard):
            yield part

    monkeypatch.setattr(keeper, "candidates", candidates)
    reading = asyncio.create_task(anext(alone.candidates(shard_of(digest_of(URL)))))
    while not alone._link.down:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert not reading.done()
    alone._link.mark_up()
    assert dict((await reading).items()) == {URL: candidate}
