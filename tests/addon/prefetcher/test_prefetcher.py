"""The companion of a service: what enters its schedule, and what a change of the configuration does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bestbefore.addon.clock import FastClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.prefetcher import prefetcher as module
from bestbefore.addon.prefetcher.outlook import Outlook, outlook
from bestbefore.addon.prefetcher.prefetcher import Prefetcher
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Fields, Head

PATIENCE_S = 60.0
ENABLED = """[proxy]
admin = "off"
[default]
prefetch_most = "1/day"
[prefetch]
enabled = true
budget = "{budget}/day"
"""
START_S = 1_706_227_200.0
URL = "http://www.example.org/feed"


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

    async def outlook(self, suits: Callable[[Outlook], bool]) -> Outlook:
        """Wait for an outlook that suits."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await outlook(self.service.store, self.clock.now())
                if found is not None and suits(found):
                    return found
                await asyncio.sleep(0.02)

    async def contact(self, url: str, etag: str) -> None:
        """Let the proxy learn of a contact."""
        await self.service.store.learn(Observation(url, self.clock.now(), "", Fingerprint(etag=etag)))
        self.companion.note_contact(url)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(module, "TURN_S", 0.05)
    monkeypatch.setattr(module, "RETRY_S", 0.05)
    made = World(tmp_path)
    await made.service.start()
    yield made
    await made.service.stop()


async def test_it_goes_on_with_the_settings_of_a_changed_configuration(world: World) -> None:
    first = await world.outlook(lambda one: one.budget_per_day == 100.0)
    assert (first.objects, first.shards, first.proxies) == (0, 256, 1)
    world.config.write_text(ENABLED.format(budget=7))
    await world.outlook(lambda one: one.budget_per_day == 7.0)
    assert world.companion.counts_demand
    world.config.write_text(ENABLED.format(budget=7).replace("true", "false"))
    await until(lambda: not world.companion.counts_demand)
    await until(lambda: world.companion._tasks == [])
    async with asyncio.timeout(PATIENCE_S):
        while await outlook(world.service.store, world.clock.now()) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_it_does_nothing_while_the_proxy_is_offline(world: World) -> None:
    world.config.write_text(ENABLED.format(budget=100).replace("[default]", "offline = true\n[default]"))
    await until(lambda: not world.companion.counts_demand)
    await until(lambda: world.companion._tasks == [])


async def test_a_retry_after_that_a_client_met_is_kept_over_a_change_of_the_configuration(world: World) -> None:
    busy = Head(429, Fields([("Retry-After", "100000")]))
    world.companion.note_answer("www.example.org", busy)
    world.config.write_text(ENABLED.format(budget=7))
    await world.outlook(lambda one: one.budget_per_day == 7.0)
    assert world.companion._politeness.wait_s("example.org", world.clock.now()) > 90_000.0


async def test_an_object_enters_with_its_second_request_and_each_contact_moves_it(world: World) -> None:
    store = world.service.store
    for etag in ('"1"', '"2"'):
        await world.contact(URL, etag)
    store.planning.want(URL, "")
    await store.flush()
    await world.outlook(lambda one: one.objects == 0)
    store.planning.want(URL, "")
    await store.flush()
    seen = await world.outlook(lambda one: one.objects == 1 and bool(one.next))
    assert [fetch.url for fetch in seen.next] == [URL]
    assert "asked for 2 times in 8 days" in seen.next[0].why
    await world.contact(URL, '"3"')
    last = await store.record(URL)
    assert last is not None
    candidates = world.companion._candidates
    assert candidates is not None
    slot = candidates.objects.slot_of(URL)
    assert slot is not None
    await until(lambda: candidates.schedule.contact_s(slot) == last.last_contact_s)
    await store.forget(URL)
    await world.outlook(lambda one: one.objects == 0)


async def test_a_signal_puts_an_object_at_the_front_and_a_push_spares_fetches(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = world.service.store
    await world.contact(URL, '"1"')
    for _ in range(2):
        store.planning.want(URL, "")
    await store.flush()
    await world.outlook(lambda one: one.objects == 1)
    candidates = world.companion._candidates
    assert candidates is not None
    monkeypatch.setattr(world.companion, "_ended", lambda *_: None)
    world.companion.pushed_until(URL, world.clock.now() + 1e6)
    await until(lambda: candidates.schedule.due_s(0, 0.0) >= START_S + 86_400.0 - 60.0)
    hastened: list[str] = []
    monkeypatch.setattr(candidates, "hasten", lambda url: hastened.append(url) or True)
    world.companion.signalled(URL, None, "test")
    assert hastened == [URL]


async def test_a_signal_for_an_object_of_another_process_is_announced_to_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    planning = world.service.store.planning
    await world.outlook(lambda one: one.shards == 256)
    candidates = world.companion._candidates
    assert candidates is not None
    hastened: list[str] = []
    monkeypatch.setattr(candidates, "hasten", lambda url: candidates.holds(url) and not hastened.append(url))
    await planning.announce([URL], changed=True)
    await until(lambda: hastened == [URL])
    position = (await planning.announced(0)).position
    candidates.shards = frozenset()
    world.companion.signalled(URL, None, "test")
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if (await planning.announced(position)).changed == [URL]:
                break
            await asyncio.sleep(0.02)
    assert hastened == [URL]


async def test_a_fault_is_said_and_the_work_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await world.outlook(lambda _: True)
    planning = world.service.store.planning
    real, failed = planning.announced, asyncio.Event()

    async def fails(since: int) -> tuple[list[str], int]:
        if failed.is_set():
            return await real(since)
        failed.set()
        raise KeyError

    monkeypatch.setattr(planning, "announced", fails)
    await failed.wait()
    await until(lambda: "a bug in bestbefore" in caplog.text)
    world.config.write_text(ENABLED.format(budget=9))
    await world.outlook(lambda one: one.budget_per_day == 9.0)
