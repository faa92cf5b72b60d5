"""The side of prefetching when its backend goes away: known at once, and jobs go on in memory."""

import logging

import pytest

from bestbefore.addon.clock import ManualClock, RealClock
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import UnavailableError, UnwritableError
from bestbefore.addon.store.backend.keeper import DONE, WANTS_KEPT_DAYS
from bestbefore.addon.store.backend.redis import RedisBackend
from bestbefore.addon.store.cache import pending_counts
from bestbefore.addon.store.cache import planning as planning_module
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.plan import Job, Plan
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
    planning = Planning(link, clock, Notices(), Faults(clock.monotonic))
    assert await planning.lead("me", 60.0)
    server.kill()
    assert not link.down
    assert not await planning.lead("me", 60.0)
    assert link.down
    assert link.last_error
    assert not link.up.is_set()
    assert link.work.is_set(), "it is looked for again"
    assert await planning.take(URL, clock.now(), "me", 60.0, 1.0) == 0.0, "in memory"
    assert await planning.take(URL, clock.now(), "another", 60.0, 1.0) > 0.0


@pytest.fixture
def clock():
    return ManualClock(100 * DAY_S)


@pytest.fixture
def alone(clock):
    """Planning on a store in memory."""
    link = Link(MemoryBackend(clock, max_bytes=10_000), clock, Notices())
    link.mark_up()
    return Planning(link, clock, Notices(), Faults(clock.monotonic))


def test_an_object_that_is_wanted_twice_and_not_planned_is_news(alone):
    assert alone.news == 0
    for _ in range(2):
        alone.want("http://a/1", "")
        alone.want("http://a/3", "")
    alone.want("http://a/2", "")
    assert alone.news == 2


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


async def test_a_plan_is_read_once_for_each_version(alone):
    await alone.put_plan(Plan(1.0, 2.0, 10.0, "freshness", 0, ()))
    known = await alone.plan()
    assert known is not None
    assert await alone.plan() is known
    assert await alone.lead("me", 60.0)


def plan_of(*urls, made_s=1.0):
    return Plan(made_s, 2.0, 10.0, "freshness", len(urls), tuple(Job(url, 2.0, 1.0, 1.0, 0.1, 1.0) for url in urls))


async def test_the_demand_is_that_of_the_last_days_with_what_still_waits(alone, clock):
    assert (await alone.demand()).since_s == clock.now()
    first_s = clock.now()
    for days in (0, 1, WANTS_KEPT_DAYS - 1):
        clock.set(first_s + days * DAY_S)
        alone.want(URL, "")
        await alone._link.read(alone.wants.write)
    alone.want(URL, "192.168.0.0/16")
    demand = await alone.demand()
    assert demand.since_s == first_s
    assert sorted(demand.counts.items()) == [((URL, ""), 3), ((URL, "192.168.0.0/16"), 1)]
    clock.set(first_s + WANTS_KEPT_DAYS * DAY_S)
    demand = await alone.demand()
    assert (demand.since_s, demand.counts[URL, ""]) == (first_s + DAY_S, 2)


async def test_what_was_considered_is_news_no_more_unless_it_was_wanted_once(alone):
    for url in ("http://a/1", "http://a/1", "http://a/2"):
        alone.want(url, "")
    assert alone.news == 1
    await alone.demand()
    assert alone.news == 0
    alone.want("http://a/2", "")
    assert alone.news == 1, "the second request of it"
    await alone.put_plan(plan_of("http://a/2"))
    assert alone.news == 0


def test_what_cannot_be_written_is_not_wanted(alone):
    alone.want("http://a/\udcff", "")
    assert (alone.wants.waiting, alone.news) == (0, 0)


def test_wants_wait_up_to_a_bound(alone, monkeypatch):
    for module in (planning_module, pending_counts):
        monkeypatch.setattr(module, "MAX_PENDING", 2)
    for url in ("http://a/1", "http://a/2", "http://a/3", "http://a/3"):
        alone.want(url, "")
    assert (alone.wants.waiting, alone.news) == (2, 0)


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

    monkeypatch.setattr(alone._link.backend.keeper, "add_wants", add_wants)
    for name in ("1", "bad", "2"):
        alone.want(f"http://a/{name}", "")
    await alone.wants.write(alone._link.backend)
    assert sorted(want.url for want in written) == ["http://a/1", "http://a/2"]
    assert (alone.wants.waiting, alone.wants.faults.counts) == (0, {"wants": 1})


async def test_what_is_forgotten_is_neither_wanted_nor_planned_nor_done(alone, clock):
    other = "http://www.example.org/b"
    for url in (URL, other):
        alone.want(url, "")
        assert await alone.take(url, 5.0, "me", 60.0, 0.0) == 0.0
        await alone.finish(url, "me", 5.0)
    await alone.put_plan(plan_of(URL, other))
    await alone.forget(lambda url: url == URL)
    assert [want.url for want in alone.wants.counts] == [other]
    assert [job.url for job in (await alone.plan()).jobs] == [other]
    assert await alone.take(URL, 5.0, "me", 60.0, 0.0) == 0.0
    assert await alone.take(other, 5.0, "me", 60.0, 0.0) == DONE
    kept = (await alone.plan()).version
    await alone.forget(lambda url: url == "http://elsewhere/")
    assert (await alone.plan()).version == kept


async def test_a_plan_that_cannot_be_read_is_none_and_said_until_one_can(alone, clock, logged):
    assert await alone.plan() is None
    keeper = alone._link.backend.keeper
    await keeper.put_plan("broken", b"\xff\xff")
    assert await alone.plan() is None
    await alone.put_plan(plan_of(URL))
    other = Planning(alone._link, clock, alone._notices, alone.wants.faults)
    for _ in range(2):
        other.want("http://a/1", "")
    assert (await other.plan()).jobs[0].url == URL
    assert other.news == 0, "another process has considered them"
    said = logged()
    assert said[0].startswith("the stored plan cannot be read")
    assert said[1] == "the stored plan can be read again"


async def test_what_this_process_planned_leaves_its_news(alone):
    for _ in range(2):
        alone.want("http://a/1", "")
    plan = plan_of(URL)
    await alone.put_plan(plan)
    alone._plan = None  # as if it had been read by another part
    assert (await alone.plan()).version == plan.version
    assert alone.news == 1


async def test_without_the_backend_jobs_are_leased_spaced_and_counted_in_memory(alone, clock):
    await alone.put_plan(plan_of(URL))
    alone._link.mark_down(UnavailableError("gone"))
    assert (await alone.plan()).jobs[0].url == URL
    assert await alone.demand() is None
    assert not await alone.lead("me", 60.0)
    assert await alone.take(URL, 5.0, "me", 60.0, 10.0) == 0.0
    clock.advance(59.0)
    await alone.renew(URL, "me", 60.0)
    clock.advance(59.0)
    assert await alone.take(URL, 5.0, "another", 60.0, 0.0) == 1.0
    await alone.release(URL, "me")
    assert await alone.take(URL, 5.0, "another", 60.0, 0.0) == 0.0
    await alone.finish(URL, "another", 5.0)
    assert await alone.take(URL, 5.0, "me", 60.0, 0.0) == DONE
    await alone.pause("example.org", 30.0)
    assert await alone.take(URL, 6.0, "me", 60.0, 0.0) == 30.0
    assert [await alone.spend(period, 1, 2) for period in (1, 2, 3)] == [True, True, False]
    assert (await alone.spent(1), await alone.spent(2)) == (2, 1)


async def test_a_backend_that_refuses_writes_is_not_taken_for_one_that_is_down(alone, monkeypatch, caplog):
    async def take(*_):
        raise UnwritableError("no disk")

    monkeypatch.setattr(alone._link.backend.keeper, "take", take)
    with caplog.at_level(logging.DEBUG):
        assert await alone.take(URL, 5.0, "me", 60.0, 1.0) == 0.0
    assert not alone._link.down
    assert "prefetching goes on in memory: no disk" in caplog.text
