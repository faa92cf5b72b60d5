"""The companion of a service: when it plans, and what a change of the configuration does."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bestbefore.addon.clock import FastClock
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.prefetcher import prefetcher as module
from bestbefore.addon.prefetcher.prefetcher import Prefetcher
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.plan import Plan

PATIENCE_S = 20.0
ENABLED = '[proxy]\nadmin = "off"\n[prefetch]\nenabled = true\nbudget = "{budget}/day"\n'
START_S = 1_706_227_200.0


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


class World:
    """A service with its companion."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "proxy.toml"
        self.config.write_text(ENABLED.format(budget=100))
        watch = ConfigWatch(self.config, {"state": str(folder / "state")})
        self.clock = FastClock(START_S, 60.0)
        self.made: list[Prefetcher] = []
        self.service = Service(watch, self.clock, companion=self._companion)

    def _companion(self, service: Service) -> Prefetcher:
        self.made.append(Prefetcher(service))
        return self.made[-1]

    @property
    def companion(self) -> Prefetcher:
        return self.made[0]

    async def plan(self, suits: Callable[[Plan], bool]) -> Plan:
        """Wait for a plan that suits."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                plan = await self.service.store.planning.plan()
                if plan is not None and suits(plan):
                    return plan
                await asyncio.sleep(0.02)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(module, "CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(module, "RETRY_S", 0.05)
    made = World(tmp_path)
    await made.service.start()
    yield made
    await made.service.stop()


async def test_it_plans_at_the_start_and_then_when_the_configuration_changes(world: World) -> None:
    first = await world.plan(lambda plan: plan.budget_per_day == 100.0)
    world.config.write_text(ENABLED.format(budget=7))
    second = await world.plan(lambda plan: plan.budget_per_day == 7.0)
    assert second.made_s > first.made_s
    assert world.companion.counts_demand
    world.config.write_text(ENABLED.format(budget=7).replace("true", "false"))
    await until(lambda: not world.companion.counts_demand)


async def test_who_is_offline_prefetches_nothing(world: World) -> None:
    await world.plan(lambda _: True)
    world.config.write_text(ENABLED.format(budget=100).replace("[prefetch]", "offline = true\n[prefetch]"))
    await until(lambda: not world.companion.counts_demand)
    await until(lambda: world.companion._tasks == [])


async def test_a_retry_after_that_a_client_met_is_kept_over_a_change_of_the_configuration(world: World) -> None:
    busy = Head(429, Fields([("Retry-After", "100000")]))
    world.companion.note_answer("www.example.org", busy)
    world.config.write_text(ENABLED.format(budget=7))
    await world.plan(lambda plan: plan.budget_per_day == 7.0)
    assert world.companion._politeness.wait_s("example.org", world.clock.now()) > 90_000.0


async def test_a_fault_in_planning_is_said_and_planning_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await world.plan(lambda _: True)
    real, failed = module.make_plan, threading.Event()

    def fails(*given: object) -> Plan:
        if failed.is_set():
            return real(*given)  # type: ignore[arg-type]
        failed.set()
        raise KeyError

    monkeypatch.setattr(module, "make_plan", fails)
    world.config.write_text(ENABLED.format(budget=9))
    await world.plan(lambda plan: plan.budget_per_day == 9.0)
    assert "a bug in bestbefore" in caplog.text


async def test_a_stop_does_not_wait_for_a_plan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()

    def slow(*_: object) -> Plan:
        begun.set()
        end.wait(PATIENCE_S)
        return Plan(0.0, 1.0, 1.0, "age", 0)

    monkeypatch.setattr(module, "make_plan", slow)
    world.config.write_text(ENABLED.format(budget=9))
    await until(begun.is_set)
    try:
        async with asyncio.timeout(5.0):
            await world.companion.close()
    finally:
        end.set()


@pytest.mark.parametrize(
    ("passed_s", "news", "is_time"),
    [
        (0.0, 0, False),
        (3600.0 - 1, 0, False),
        (3600.0, 0, True),
        (-60.0, 0, False),
        (-61.0, 0, True),
        (59.0, 100, False),
        (60.0, 100, True),
        (60.0, 20, True),
        (60.0, 19, False),
    ],
)
def test_a_plan_is_due_when_it_is_old_or_many_objects_are_new(passed_s: float, news: int, is_time: bool) -> None:
    store = SimpleNamespace(planning=SimpleNamespace(news=news))
    service: Any = SimpleNamespace(clock=SimpleNamespace(now=lambda: START_S + passed_s), store=store)
    companion = Prefetcher(service)
    companion._settings = PrefetchSettings(replan=3600.0)
    assert companion._is_time(Plan(START_S, START_S + 86_400.0, 100.0, "age", 100)) is is_time
    assert companion._is_time(None)
    companion._is_outdated = True
    assert companion._is_time(Plan(START_S + passed_s, START_S + 86_400.0, 100.0, "age", 100))


async def test_one_new_object_is_enough_where_few_are_planned() -> None:
    planning = SimpleNamespace(news=1)
    service: Any = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: START_S + 1800.0), store=SimpleNamespace(planning=planning)
    )
    companion, plan = Prefetcher(service), Plan(START_S, START_S + 86_400.0, 100.0, "age", 2)
    companion._settings = PrefetchSettings(replan=3600.0)
    assert companion._is_time(plan)
    planning.news = 0
    assert not companion._is_time(plan)
