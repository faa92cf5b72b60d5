"""Fetches that are made: when, how far apart, how many, and by whom. Time is real, and a fast clock makes it short."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import FastClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import ByteBudget, PrefetchSettings
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.addon.prefetcher import runner as runner_module
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.prefetcher.due_jobs import Job
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import BUDGET_SPENT, Done, Runner
from bestbefore.addon.store.backend.keeper import SHARDS
from bestbefore.addon.store.candidate import Candidate
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

START_S = 20_000 * 86_400.0
FACTOR = 100.0
PATIENCE_S = 60.0
RULES = load_config(None, {"state": "/nowhere"}).rules


@pytest.fixture
def clock() -> FastClock:
    return FastClock(START_S, FACTOR)


@pytest.fixture
async def store(clock: FastClock) -> AsyncIterator[Store]:
    made = await open_memory_store(clock=clock)
    yield made
    await made.close()


class Fetches:
    """A fetch that notes when it was done."""

    def __init__(self, clock: FastClock, how: Callable[[Job], Awaitable[Done]] | None = None) -> None:
        self.done: list[tuple[str, float]] = []
        self.ended: list[tuple[str, str]] = []
        self._clock = clock
        self._how = how
        self._changed = asyncio.Event()

    async def __call__(self, job: Job, may_contact: Callable[[], Awaitable[bool]]) -> Done:
        began_s = self._clock.now()
        if not await may_contact():
            return Done(BUDGET_SPENT, retry_s=0.0)
        done = Done("unchanged") if self._how is None else await self._how(job)
        self.done.append((job.url, began_s - START_S))
        self._changed.set()
        return done

    async def happen(self, n: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.done) < n:
                self._changed.clear()
                await self._changed.wait()


async def running(
    clock: FastClock, store: Store, fetch: Fetches, budget: int = 1000, interval_s: float = 2.0, holder: str = "a",
    budget_bytes: ByteBudget | None = None, **due: float,
) -> "asyncio.Task[None]":
    """Run with objects that are due at these times, by URL without scheme and with `_` for `/`."""
    metrics, settings = PrefetchMetrics(CollectorRegistry()), PrefetchSettings(budget=FetchRate(budget, 86_400.0))
    candidates = Candidates(store, clock, lambda: RULES, lambda *_: False, settings, metrics)
    known = Candidate(1e-6, START_S - 1e6, 2, bytes(23) + b"1", 0.2)
    await store.planning.put_candidates({url(name): known for name in due})
    await candidates.hold(frozenset(range(SHARDS)))
    for name, due_s in due.items():
        slot = candidates.objects.slot_of(url(name))
        assert slot is not None
        candidates.schedule.hasten(slot, START_S + due_s)

    def ended(job: Job, done: Done) -> None:
        fetch.ended.append((job.url, done.outcome))

    politeness = Politeness(interval_s, 1, np.random.default_rng(1))
    return asyncio.create_task(
        Runner(
            clock, store.planning, candidates, politeness, settings.budget, metrics, holder, fetch, ended, budget_bytes
        ).run()
    )


def url(name: str) -> str:
    return f"http://{name.replace('_', '.')}.org/"


async def ended(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_each_job_is_done_when_it_is_due(clock: FastClock, store: Store) -> None:
    fetch = Fetches(clock)
    task = await running(clock, store, fetch, a=5.0, b=20.0, www_a=40.0)
    await fetch.happen(3)
    await ended(task)
    assert {at for at, _ in fetch.done} == {url("a"), url("b"), url("www_a")}
    assert fetch.ended == [(one, "unchanged") for one, _ in fetch.done]
    times = dict(fetch.done)
    for name, due in (("a", 5.0), ("b", 20.0), ("www_a", 40.0)):
        assert times[url(name)] >= due


async def test_between_two_fetches_of_a_domain_lies_the_interval(clock: FastClock, store: Store) -> None:
    fetch = Fetches(clock)
    task = await running(clock, store, fetch, interval_s=20.0, www1_a=1.0, www2_a=1.1, www3_a=1.2)
    await fetch.happen(3)
    await ended(task)
    # On a busy machine all are due before the first is fetched, and their order is then free.
    assert {one for one, _ in fetch.done} == {url("www1_a"), url("www2_a"), url("www3_a")}
    assert np.all(np.diff([at for _, at in fetch.done]) >= 20.0 - 1e-6)


async def test_a_domain_with_many_due_objects_does_not_hold_up_others(
    clock: FastClock, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "MOST_OF_A_DOMAIN", 3)
    fetch = Fetches(clock)
    names = {f"www{i}_a": 1.0 for i in range(10)}
    task = await running(clock, store, fetch, interval_s=20.0, **names, b=2.0)
    await fetch.happen(11)
    await ended(task)
    assert [one for one, _ in fetch.done].index(url("b")) <= 2
    assert {one for one, _ in fetch.done} == {*map(url, names), url("b")}


async def test_never_more_than_the_budget(clock: FastClock, store: Store) -> None:
    fetch = Fetches(clock)
    task = await running(clock, store, fetch, budget=3, **{f"d{n}": 1.0 for n in range(10)})
    await fetch.happen(3)
    await asyncio.sleep(0.3)
    await ended(task)
    assert len(fetch.done) == 3


async def test_when_the_bytes_are_spent_fetches_wait(clock: FastClock, store: Store) -> None:
    async def receives(_: Job) -> Done:
        return Done("updated", received_bytes=400)

    fetch = Fetches(clock, receives)
    budget = ByteBudget(1000, 86_400.0, "")
    due = {f"d{n}": 1.0 + 10.0 * n for n in range(6)}
    task = await running(clock, store, fetch, budget_bytes=budget, interval_s=0.0, **due)
    await fetch.happen(3)
    await asyncio.sleep(0.5)
    await ended(task)
    assert len(fetch.done) == 3
    assert await store.planning.received_bytes(0) == 1200


async def test_sixteen_fetches_are_under_way_at_once_and_no_more(clock: FastClock, store: Store) -> None:
    begun: list[str] = []
    sixteen = asyncio.Event()

    async def hangs(some: Job) -> Done:
        begun.append(some.url)
        if len(begun) >= 16:
            sixteen.set()
        await asyncio.Event().wait()
        return Done("never")

    task = await running(clock, store, Fetches(clock, hangs), **{f"d{n}": 1.0 for n in range(20)})
    async with asyncio.timeout(PATIENCE_S):
        await sixteen.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    await ended(task)
    assert len(begun) == 16


async def test_what_another_has_just_fetched_is_not_fetched(clock: FastClock, store: Store) -> None:
    assert await store.planning.take(url("a"), "other", 60.0, 0.0) == 0.0
    fetch = Fetches(clock)
    task = await running(clock, store, fetch, a=1.0, b=5.0)
    await fetch.happen(1)
    await ended(task)
    assert [one for one, _ in fetch.done] == [url("b")]
    assert await store.planning.take(url("a"), "third", 60.0, 0.0) < 0.0


async def test_a_job_that_is_interrupted_is_given_back(clock: FastClock, store: Store) -> None:
    begun, second = asyncio.Event(), Fetches(clock)

    async def hangs(_: Job) -> Done:
        begun.set()
        await asyncio.Event().wait()
        return Done("never")

    task = await running(clock, store, Fetches(clock, hangs), holder="before", a=1.0)
    await begun.wait()
    await ended(task)
    task = await running(clock, store, second, holder="after", a=1.0)
    await second.happen(1)
    await ended(task)


async def test_a_slow_fetch_keeps_its_lease(
    clock: FastClock, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "LEASE_S", 3.0)  # longer than a busy machine stands still
    monkeypatch.setattr(runner_module, "RENEW_INTERVAL_S", 0.1)
    ends = asyncio.Event()

    async def slow(_: Job) -> Done:
        await ends.wait()
        return Done("unchanged")

    task = await running(clock, store, Fetches(clock, slow), holder="one", a=1.0)
    await asyncio.sleep(3.3)
    assert await store.planning.take(url("a"), "other", 60.0, 0.0) < 0.0
    ends.set()
    await ended(task)


async def test_what_has_to_wait_for_something_else_comes_after_it(clock: FastClock, store: Store) -> None:
    answers = iter([Done("robots-read", retry_s=10.0), Done("unchanged")])

    async def twice(_: Job) -> Done:
        return next(answers)

    fetch = Fetches(clock, twice)
    task = await running(clock, store, fetch, a=1.0)
    await fetch.happen(2)
    await ended(task)
    assert fetch.done[1][1] - fetch.done[0][1] >= 10.0
    assert fetch.ended == [(url("a"), "unchanged")]


async def test_a_fetch_that_raises_is_said_and_does_not_stop_the_others(
    clock: FastClock, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(some: Job) -> Done:
        if some.url == url("a"):
            raise KeyError
        return Done("unchanged")

    fetch = Fetches(clock, fails)
    task = await running(clock, store, fetch, a=1.0, b=2.0)
    await fetch.happen(1)
    await ended(task)
    assert fetch.done[0][0] == url("b")
    assert "a bug in bestbefore" in caplog.text
