"""Jobs that are run: when, how far apart, how many, and by whom. Time is real, and a fast clock makes it short."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import FastClock
from bestbefore.addon.prefetcher import runner as runner_module
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import Done, Runner
from bestbefore.addon.store.plan import Job, Plan
from bestbefore.addon.store.store import Store
from bestbefore.addon.wishes import FetchRate
from tests.addon.store.memory_backend import open_memory_store

START_S = 20_000 * 86_400.0
FACTOR = 100.0
PATIENCE_S = 20.0


@pytest.fixture
def clock() -> FastClock:
    return FastClock(START_S, FACTOR)


@pytest.fixture(autouse=True)
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "LEASE_S", 0.3)
    monkeypatch.setattr(runner_module, "RENEW_INTERVAL_S", 0.1)
    monkeypatch.setattr(runner_module, "POLL_S", 0.1)


@pytest.fixture
async def store(clock: FastClock) -> AsyncIterator[Store]:
    made = await open_memory_store(clock=clock)
    yield made
    await made.close()


class Fetches:
    """A fetch that notes when it was done."""

    def __init__(self, clock: FastClock, how: Callable[[Job], Awaitable[Done]] | None = None) -> None:
        self.done: list[tuple[str, float]] = []
        self._clock = clock
        self._how = how
        self._changed = asyncio.Event()

    async def __call__(self, job: Job) -> Done:
        began_s = self._clock.now()
        done = Done("unchanged") if self._how is None else await self._how(job)
        self.done.append((job.url, began_s - START_S))
        self._changed.set()
        return done

    async def happen(self, n: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.done) < n:
                self._changed.clear()
                await self._changed.wait()


def running(
    clock: FastClock, store: Store, fetch: Fetches, budget: int = 1000, interval_s: float = 2.0, holder: str = "a"
) -> "asyncio.Task[None]":
    politeness = Politeness(interval_s, 1, np.random.default_rng(1))
    metrics = PrefetchMetrics(CollectorRegistry())
    return asyncio.create_task(
        Runner(clock, store.planning, politeness, FetchRate(budget, 86_400.0), metrics, holder, fetch).run()
    )


async def ended(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def job(url: str, due: float, gain: float = 1.0) -> Job:
    return Job(f"http://{url}", START_S + due, gain, 1.0, 1.0, 1.0)


async def put(store: Store, *jobs: Job, made: float = 0.0) -> None:
    await store.planning.put_plan(Plan(START_S + made, START_S + 86_400.0, 100.0, "freshness", len(jobs), jobs))


async def test_each_job_is_done_when_it_is_due(clock: FastClock, store: Store) -> None:
    fetch = Fetches(clock)
    await put(store, job("a.org/1", 5.0), job("b.org/1", 20.0), job("a.org/2", 40.0))
    task = running(clock, store, fetch)
    await fetch.happen(3)
    await ended(task)
    assert [url for url, _ in fetch.done] == ["http://a.org/1", "http://b.org/1", "http://a.org/2"]
    for (_, at), due in zip(fetch.done, (5.0, 20.0, 40.0), strict=True):
        assert at >= due


async def test_between_two_fetches_of_a_domain_lies_the_interval_and_the_best_come_first(
    clock: FastClock, store: Store
) -> None:
    fetch = Fetches(clock)
    await put(store, *(job(f"www{n}.a.org/", 1.0, gain) for n, gain in enumerate((1.0, 3.0, 2.0))))
    await asyncio.sleep(0.02)
    task = running(clock, store, fetch, interval_s=20.0)
    await fetch.happen(3)
    await ended(task)
    assert [url for url, _ in fetch.done] == ["http://www1.a.org/", "http://www2.a.org/", "http://www0.a.org/"]
    assert np.all(np.diff([at for _, at in fetch.done]) >= 20.0 - 1e-6)


async def test_never_more_than_the_budget(clock: FastClock, store: Store) -> None:
    fetch = Fetches(clock)
    await put(store, *(job(f"{n}.org/", 1.0, n) for n in range(10)))
    task = running(clock, store, fetch, budget=3)
    await fetch.happen(3)
    await asyncio.sleep(0.3)
    await ended(task)
    assert len(fetch.done) == 3


async def test_sixteen_fetches_are_under_way_at_once_and_no_more(clock: FastClock, store: Store) -> None:
    begun: list[str] = []
    sixteen = asyncio.Event()

    async def hangs(some: Job) -> Done:
        begun.append(some.url)
        if len(begun) >= 16:
            sixteen.set()
        await asyncio.Event().wait()
        return Done("never")

    await put(store, *(job(f"{n}.org/", 1.0) for n in range(20)))
    task = running(clock, store, Fetches(clock, hangs))
    async with asyncio.timeout(PATIENCE_S):
        await sixteen.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    await ended(task)
    assert len(begun) == 16


async def test_what_was_done_is_not_done_again_after_a_restart_and_the_rest_is(clock: FastClock, store: Store) -> None:
    async def ends_only_for_a(some: Job) -> Done:
        if "b.org" in some.url:
            await asyncio.Event().wait()
        return Done("unchanged")

    first, second = Fetches(clock, ends_only_for_a), Fetches(clock)
    await put(store, job("a.org/", 1.0), job("b.org/", 50.0))
    task = running(clock, store, first, holder="before")
    await first.happen(1)
    await ended(task)
    task = running(clock, store, second, holder="after")
    await second.happen(1)
    await ended(task)
    assert [url for url, _ in first.done + second.done] == ["http://a.org/", "http://b.org/"]


async def test_a_job_that_is_interrupted_is_given_back(
    clock: FastClock, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "LEASE_S", 600.0)  # so that another one has it only if it is given back
    begun, second = asyncio.Event(), Fetches(clock)

    async def hangs(_: Job) -> Done:
        begun.set()
        await asyncio.Event().wait()
        return Done("never")

    await put(store, job("a.org/", 1.0))
    task = running(clock, store, Fetches(clock, hangs), holder="before")
    await begun.wait()
    await ended(task)
    task = running(clock, store, second, holder="after")
    await second.happen(1)
    await ended(task)


async def test_a_slow_fetch_keeps_its_lease(
    clock: FastClock, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "LEASE_S", 3.0)  # so that a machine that stands still for a while ends none

    async def slow(_: Job) -> Done:
        await asyncio.sleep(4.0)
        return Done("unchanged")

    first, second = Fetches(clock, slow), Fetches(clock)
    await put(store, job("a.org/", 1.0))
    one = running(clock, store, first, holder="one")
    await asyncio.sleep(0.1)
    other = running(clock, store, second, holder="other")
    await first.happen(1)
    await asyncio.sleep(0.4)
    await ended(one, other)
    assert (len(first.done), len(second.done)) == (1, 0)


async def test_what_has_to_wait_for_something_else_comes_after_it(clock: FastClock, store: Store) -> None:
    answers = iter([Done("robots-read", retry_s=10.0), Done("unchanged")])

    async def twice(_: Job) -> Done:
        return next(answers)

    fetch = Fetches(clock, twice)
    await put(store, job("a.org/", 1.0))
    task = running(clock, store, fetch)
    await fetch.happen(2)
    await ended(task)
    assert fetch.done[1][1] - fetch.done[0][1] >= 10.0


async def test_another_plan_takes_over(clock: FastClock, store: Store) -> None:
    fetch = Fetches(clock)
    await put(store, job("a.org/", 5000.0))
    task = running(clock, store, fetch)
    await asyncio.sleep(0.15)
    await put(store, job("b.org/", 10.0), made=5.0)
    await fetch.happen(1)
    await ended(task)
    assert fetch.done[0][0] == "http://b.org/"


async def test_a_fetch_that_raises_is_said_and_does_not_stop_the_others(
    clock: FastClock, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(some: Job) -> Done:
        if "a.org" in some.url:
            raise KeyError
        return Done("unchanged")

    fetch = Fetches(clock, fails)
    await put(store, job("a.org/", 1.0), job("b.org/", 2.0))
    task = running(clock, store, fetch)
    await fetch.happen(1)
    await ended(task)
    assert fetch.done[0][0] == "http://b.org/"
    assert "a bug in bestbefore" in caplog.text
