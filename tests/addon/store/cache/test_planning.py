"""The side of prefetching when its backend goes away: known at once, and jobs go on in memory."""

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.keys import Keys
from bestbefore.addon.store.backend.memory import MemoryBackend
from bestbefore.addon.store.backend.redis import RedisBackend
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.plan import Plan

URL = "http://www.example.org/a"


@pytest.fixture
async def server(start_valkey):
    return start_valkey()


@pytest.fixture
async def link(server):
    """To a server of its own; what listens to it says nothing, so that only a question can find that it is gone."""
    clock = RealClock()
    backend = RedisBackend(
        Connection(server.url), Keys(registrable_domain), clock, clock_mark="real", forget_after_s=180 * 86_400.0
    )
    await backend.connect(lambda tombstone: None, lambda error: None)
    made = Link(backend, clock, Notices())
    made.mark_up()
    yield made
    await backend.close()


async def test_a_question_that_finds_the_backend_gone_tells_the_link(link, server):
    clock = RealClock()
    planning = Planning(link, clock, Notices(), Faults(clock.monotonic), registrable_domain)
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
def alone():
    """Planning on a store in memory."""
    clock = RealClock()
    link = Link(MemoryBackend(clock, registrable_domain, max_bytes=10_000), clock, Notices())
    link.mark_up()
    return Planning(link, clock, Notices(), Faults(clock.monotonic), registrable_domain)


def test_an_object_that_is_wanted_twice_and_not_planned_is_news(alone):
    assert alone.news == 0
    for _ in range(2):
        alone.want("http://a/1", "")
        alone.want("http://a/3", "")
    alone.want("http://a/2", "")
    assert alone.news == 2


def test_where_nothing_is_wanted_nothing_waits(alone):
    assert not alone.snapshot()()
    alone.want(URL, "")
    assert alone.snapshot()()


async def test_wants_that_were_written_wait_no_more(alone):
    alone.want(URL, "")
    some = alone.snapshot()
    await alone._link.read(alone.write)
    alone.want(URL, "")
    assert (some(), alone.waiting) == (False, 1)


async def test_a_plan_is_read_once_for_each_version(alone):
    await alone.put_plan(Plan(1.0, 2.0, 10.0, "freshness", 0, ()))
    known = await alone.plan()
    assert known is not None
    assert await alone.plan() is known
    assert await alone.lead("me", 60.0)
