"""Candidates: what enters, is estimated anew, leaves, and is found again after a restart."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import ByteBudget, PrefetchSettings
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.prefetch_limits import FetchRate, PrefetchLimits
from bestbefore.addon.prefetcher import candidates as module
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.backend.keeper import SHARDS, digest_of, shard_of
from bestbefore.addon.store.store import Store
from bestbefore.addon.week_times import WeekTimes
from bestbefore.policies.units import DAY_S, HOUR_S
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 20_000 * DAY_S + 10 * HOUR_S
URLS = [f"http://www{i}.example.org/x" for i in range(5)]
ALL = frozenset(range(SHARDS))
SETTINGS = PrefetchSettings(enabled=True, objective="delay", budget=FetchRate(240, DAY_S))


class World:
    """A store with contacts and requests, and the candidates on it."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.rules: Rules = load_config(None, {"state": "/nowhere"}).rules
        self.excluded: set[str] = set()
        self.metrics = PrefetchMetrics(CollectorRegistry())

    def candidates(self, settings: PrefetchSettings = SETTINGS) -> Candidates:
        return Candidates(
            self.store, self.clock, lambda: self.rules, lambda url, _: url in self.excluded, settings, self.metrics
        )

    async def contact(self, url: str, hours_ago: float, version: str, modified_h: float | None = None) -> None:
        modified_s = None if modified_h is None else NOW_S - modified_h * HOUR_S
        seen = Fingerprint(etag=version, last_modified_s=modified_s)
        await self.store.learn(Observation(url, NOW_S - hours_ago * HOUR_S, "", seen))

    async def ask(self, url: str, times: int = 2, asked_from: str = "") -> None:
        for _ in range(times):
            self.store.planning.want(url, asked_from)
        await self.store.flush()

    def limit(self, **limits: object) -> None:
        self.rules = Rules(replace(self.rules.default, prefetch_limits=PrefetchLimits(**limits)), ())  # type: ignore[arg-type]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = ManualClock(NOW_S)
    store = await open_memory_store(clock=clock)
    made = World(store, clock)
    for url in URLS:
        for hours_ago in (30.0, 20.0, 10.0):
            await made.contact(url, hours_ago, f'"{hours_ago}"')
    yield made
    await store.close()


def taken(candidates: Candidates, now_s: float) -> set[str]:
    found = set()
    while (job := candidates.take(now_s)) is not None:
        found.add(job.url)
    return found


async def test_objects_enter_when_they_are_asked_for_twice_and_leave_when_they_are_not(world: World) -> None:
    candidates = world.candidates()
    await candidates.hold(ALL)
    await world.ask(URLS[0])
    await world.ask(URLS[1], 1, "loopback")
    await world.ask("http://www.example.org/unknown", 9)
    await world.ask("http://www.example.org/logout", 9)
    assert world.store.planning.has_grown.is_set()
    await candidates.look(world.store.planning.grown)
    assert [candidates.objects.url(slot) for slot in candidates.objects] == [URLS[0]]
    await world.ask(URLS[1], 1)
    await candidates.look([URLS[1]])
    slot = candidates.objects.slot_of(URLS[1])
    assert slot is not None
    assert (candidates.objects.requests(slot), candidates.objects.asked_from(slot)) == (2, ("loopback",))
    world.clock.advance(8 * DAY_S)
    await candidates.look(URLS)
    assert len(candidates) == 0


async def test_each_contact_moves_the_next_fetch(world: World) -> None:
    candidates = world.candidates()
    await candidates.hold(ALL)
    await world.ask(URLS[0])
    await candidates.look(URLS[:1])
    job = candidates.take(NOW_S + 2 * DAY_S)
    assert job is not None
    assert (job.url, job.contact_s) == (URLS[0], NOW_S - 10 * HOUR_S)
    assert candidates.is_current(job)
    assert candidates.take(NOW_S + 2 * DAY_S) is None
    await world.contact(URLS[0], 0.0, '"10.0"')
    await candidates.look(URLS[:1])
    assert not candidates.is_current(job)
    assert candidates.take(NOW_S) is None
    assert (candidates.next_s() or 0.0) >= NOW_S
    world.clock.advance(DAY_S)
    for attempted_s in ({URLS[0]: NOW_S + DAY_S}, {}):  # an attempt that brought nothing, or a response with an Age
        await candidates.look(URLS[:1], attempted_s)
        assert candidates.schedule.contact_s(0) == NOW_S + DAY_S
    world.clock.set(NOW_S)
    await candidates.look(URLS[:1])
    assert candidates.schedule.contact_s(0) == NOW_S


@pytest.mark.parametrize("asked_first", [True, False])
async def test_the_next_fetch_of_the_first_object_is_stored(world: World, asked_first: bool) -> None:
    candidates = world.candidates()
    if asked_first:
        await world.ask(URLS[0])
    await candidates.hold(ALL)
    if not asked_first:
        await world.ask(URLS[0])
        await candidates.look(URLS[:1])
    await candidates.write()
    stored = await world.store.planning.candidate(URLS[0])
    assert stored is not None
    assert stored.due_s is not None
    assert stored.due_s > NOW_S - 10 * HOUR_S


async def test_what_was_measured_is_the_time_between_contacts(world: World) -> None:
    candidates = world.candidates()
    await candidates.hold(ALL)
    await world.ask(URLS[0])
    await candidates.look(URLS[:1])
    assert world.metrics.measured == (None, None, None)
    await world.contact(URLS[0], 0.0, '"new"', modified_h=4.0)
    await candidates.look(URLS[:1])
    freshness, age_s, delay_s = world.metrics.measured
    assert freshness == pytest.approx(0.6)
    assert age_s == pytest.approx(4 * HOUR_S * 0.4 / 2)
    assert delay_s == pytest.approx(4 * HOUR_S)


async def test_after_a_restart_they_are_there_without_being_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = world.candidates()
    await before.hold(ALL)
    for url in URLS[:3]:
        await world.ask(url, 4, "10.0.0.0/8")
    await before.look(URLS[:3])
    await before.write()

    async def record(_: str) -> None:
        raise AssertionError

    monkeypatch.setattr(world.store, "record", record)
    world.excluded = {URLS[2]}
    after = world.candidates()
    await after.hold(ALL)
    assert {after.objects.url(slot) for slot in after.objects} == set(URLS[:2])
    assert [after.objects.requests(slot) for slot in after.objects] == [4, 4]
    assert after.loaded.is_set()
    assert after.take(NOW_S + 9 * DAY_S) is not None


async def test_what_a_former_version_has_counted_is_looked_at(world: World) -> None:
    for url in URLS[:3]:
        await world.ask(url)
    candidates = world.candidates()
    await candidates.hold(ALL)
    assert len(candidates) == 3


async def test_objects_of_shards_that_are_lost_leave_and_those_of_others_never_enter(world: World) -> None:
    for url in URLS:
        await world.ask(url)
    candidates = world.candidates()
    await candidates.hold(ALL)
    assert len(candidates) == len(URLS)
    kept = frozenset({shard_of(digest_of(URLS[0]))})
    await candidates.hold(kept)
    expected = [url for url in URLS if shard_of(digest_of(url)) in kept]
    assert sorted(candidates.objects.url(slot) for slot in candidates.objects) == expected
    announced: list[str] = []

    async def announce(urls: list[str]) -> None:
        announced.extend(urls)

    world.store.planning.announce = announce  # type: ignore[method-assign, assignment]
    await candidates.look(URLS)
    assert sorted(announced) == sorted(set(URLS) - set(expected))
    assert len(candidates) == len(expected)


async def test_what_is_refused_or_forgotten_leaves_for_good(world: World) -> None:
    for url in URLS:
        await world.ask(url)
    candidates = world.candidates()
    await candidates.hold(ALL)
    await candidates.write()
    candidates.leave(URLS[0])
    await candidates.write()
    assert await world.store.planning.candidate(URLS[0]) is None
    await candidates.forget(lambda url: url == URLS[1])
    assert {candidates.objects.url(slot) for slot in candidates.objects} == set(URLS[2:])
    assert candidates.hasten(URLS[2])
    assert not candidates.hasten(URLS[0])
    assert URLS[2] in taken(candidates, NOW_S)


async def test_a_rule_may_say_otherwise(world: World) -> None:
    await world.ask(URLS[0])
    world.limit(prefetch="never")
    candidates = world.candidates()
    await candidates.hold(ALL)
    assert len(candidates) == 0
    world.limit(prefetch="always")
    await candidates.look(URLS[:2])
    assert len(candidates) == 2
    watching = world.candidates(replace(SETTINGS, watch=("http://new.org/feed",)))
    await watching.hold(ALL)
    assert "http://new.org/feed" in taken(watching, NOW_S)


async def test_a_fetch_that_receives_much_costs_more(world: World) -> None:
    for url in URLS[:2]:
        await world.ask(url)
    head = Head(200, Fields([("ETag", '"10.0"')]))
    times = (NOW_S - 10 * HOUR_S,) * 4
    for url, size in zip(URLS, (1_000_000, 1_000), strict=False):
        world.store.put(Copy(url, head, BodyRef("d", size), *times), b"")
    candidates = world.candidates(replace(SETTINGS, budget_bytes=ByteBudget(24_000_000, DAY_S, "")))
    await candidates.hold(ALL)
    candidates.take(NOW_S - DAY_S)  # which sets the price
    much, little = (candidates.objects.slot_of(url) for url in URLS[:2])
    assert much is not None
    assert little is not None
    # Changed at both contacts after the first: 3/4 of the content, at 100,000 bytes a fetch of the budget.
    contact_s = NOW_S - 10 * HOUR_S
    intervals_s = [candidates.schedule.due_s(slot, contact_s) - contact_s for slot in (much, little)]
    assert intervals_s[0] / intervals_s[1] == pytest.approx(7.5**0.5, rel=0.1)


async def test_a_target_takes_no_more_than_the_budget(world: World) -> None:
    for url in URLS:
        await world.ask(url)
    candidates = world.candidates()
    await candidates.hold(ALL)
    candidates.take(NOW_S - DAY_S)
    most = candidates.schedule.expected().cost_per_hour
    await candidates.aim(24.0)
    assert candidates.schedule.expected().cost_per_hour == pytest.approx(1.0, rel=0.01)
    await candidates.aim(1e6)
    assert candidates.schedule.expected().cost_per_hour == pytest.approx(most, rel=0.01)


async def test_watched_objects_that_were_kept_out_are_looked_at_again(world: World) -> None:
    feed = "http://new.org/feed"
    world.excluded.add(feed)
    candidates = world.candidates(replace(SETTINGS, watch=(feed,)))
    await candidates.hold(ALL)
    assert len(candidates) == 0
    world.excluded.clear()
    await candidates.look_at_watched()
    assert taken(candidates, NOW_S) == {feed}


async def test_a_job_that_has_waited_into_quiet_hours_is_put_off(world: World) -> None:
    await world.ask(URLS[0])
    world.limit(quiet_hours=(WeekTimes.parse("12:00-14:00"),))
    candidates = world.candidates()
    await candidates.hold(ALL)
    candidates.hasten(URLS[0])
    job = candidates.take(NOW_S)
    assert job is not None
    assert candidates.is_current(job)
    world.clock.advance(3 * HOUR_S)
    assert not candidates.is_current(job)
    await candidates.look([job.url])
    assert candidates.take(NOW_S + 3 * HOUR_S) is None
    assert candidates.take(NOW_S + 4 * HOUR_S) is not None


async def test_while_the_store_is_down_they_stay(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.ask(URLS[0], 3, "loopback")
    candidates = world.candidates()
    await candidates.hold(ALL)

    async def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(world.store.planning, "asked", nothing)
    await candidates.look(URLS)
    (slot,) = candidates.objects
    assert (candidates.objects.requests(slot), candidates.objects.asked_from(slot)) == (3, ("loopback",))


async def test_what_is_always_fetched_stays_allowed_where_clients_once_asked(world: World) -> None:
    world.limit(prefetch="always")
    await world.ask(URLS[0], 3, "loopback")
    candidates = world.candidates()
    await candidates.hold(ALL)
    world.clock.advance(9 * DAY_S)
    await candidates.look([URLS[0]])
    slot = candidates.objects.slot_of(URLS[0])
    assert slot is not None
    assert (candidates.objects.requests(slot), candidates.objects.asked_from(slot)) == (0, ("loopback",))


async def test_one_whose_record_cannot_be_read_stays_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.ask(URLS[0])
    candidates = world.candidates()
    await candidates.hold(ALL)
    await candidates.look([URLS[0]])
    assert len(candidates) == 1

    async def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(type(world.store.planning), "asked", nothing)
    monkeypatch.setattr(type(world.store), "record", nothing)
    await candidates.look([URLS[0]])
    assert len(candidates) == 1


async def test_while_the_price_of_many_is_computed_nothing_is_due_and_changes_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 2)
    for url in URLS[:3]:
        await world.ask(url)
    candidates = world.candidates()
    await candidates.hold(ALL)
    begun, end = threading.Event(), threading.Event()
    real = candidates.schedule.set_price

    def slow(now_s: float) -> None:
        begun.set()
        end.wait(20.0)
        real(now_s)

    monkeypatch.setattr(candidates.schedule, "set_price", slow)
    world.clock.advance(2 * HOUR_S)
    assert candidates.next_s() is None
    computing = asyncio.create_task(candidates.set_price())
    await asyncio.to_thread(begun.wait)
    candidates.leave(URLS[0])
    assert candidates.hasten(URLS[1])
    looking = asyncio.create_task(candidates.look([URLS[2]]))
    await asyncio.sleep(0.01)
    assert (len(candidates), candidates.take(NOW_S + DAY_S), looking.done()) == (3, None, False)
    end.set()
    await computing
    await looking
    assert len(candidates) == 2
    await candidates.set_price()  # there is much less demand
    assert URLS[1] in taken(candidates, NOW_S + 2 * HOUR_S)
