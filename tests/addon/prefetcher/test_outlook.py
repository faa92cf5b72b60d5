"""What the schedules of all proxies on a store expect, together."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings, PrefetchTarget
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.prefetcher.outlook import (
    Fetch,
    Means,
    Outlook,
    OutlookPublisher,
    Troubled,
    outlook,
    together,
    why,
)
from bestbefore.addon.store.backend.keeper import SHARDS
from bestbefore.addon.store.candidate import Candidate
from bestbefore.addon.store.store import Store
from bestbefore.addon.store.trouble import Trouble
from bestbefore.policies.models.clockwork.beats import ClockBeat, Clockwork
from bestbefore.policies.units import DAY_S, HOUR_S
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 20_000 * DAY_S
SETTINGS = PrefetchSettings(enabled=True, objective="delay", budget=FetchRate(48, DAY_S))


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


def candidate(i: int) -> Candidate:
    return Candidate(0.5, NOW_S - HOUR_S, 4, bytes([10] * 24), 2 / 7, due_s=NOW_S + 60.0 * i)


async def test_it_has_what_the_schedule_expects_and_what_was_measured(store: Store) -> None:
    assert await outlook(store, NOW_S) is None
    clock, metrics = ManualClock(NOW_S), PrefetchMetrics(CollectorRegistry())
    rules = load_config(None, {"state": "/nowhere"}).rules
    candidates = Candidates(store, clock, lambda: rules, lambda *_: False, SETTINGS, metrics)
    publisher = OutlookPublisher(clock, candidates, SETTINGS, metrics, "me", "bestbefore-1")
    await publisher.publish(store.planning)
    assert await outlook(store, NOW_S) is None, "it is not loaded yet"
    empty = Candidates(store, clock, lambda: rules, lambda *_: False, SETTINGS, metrics)
    await empty.hold(frozenset(range(SHARDS)))
    await OutlookPublisher(clock, empty, SETTINGS, metrics, "me", "bestbefore-1").publish(store.planning)
    nothing = await outlook(store, NOW_S)
    assert nothing is not None
    assert (nothing.objects, nothing.price, nothing.expected) == (0, None, Means())
    await store.planning.put_candidates({f"http://d{i}.org/": candidate(i) for i in range(30)})
    await candidates.hold(frozenset(range(SHARDS)))
    candidates.take(NOW_S - HOUR_S)
    metrics.observed(1.0, NOW_S - 100.0, NOW_S, [NOW_S - 40.0])
    await store.planning.spend(int(NOW_S // HOUR_S), 0, 100)
    await publisher.publish(store.planning)
    seen = await outlook(store, NOW_S, most=3)
    assert seen is not None
    assert (seen.objects, seen.shards, seen.proxies, seen.spent_today, seen.objective) == (30, 256, 1, 1, "delay")
    assert seen.contacts_per_day == pytest.approx(0.95 * 48, rel=0.01)
    assert seen.expected.delay_s == pytest.approx(DAY_S / (0.95 * 48 / 30) / 2, rel=0.05)
    assert seen.measured == Means(0.6, 8.0, 40.0)
    assert len(seen.next) == 3
    assert seen.next[0].why == "changes 12 times a day, asked for 4 times in 8 days"


async def test_it_has_what_the_target_takes_and_which_watched_objects_are_in_trouble(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock, metrics = ManualClock(NOW_S), PrefetchMetrics(CollectorRegistry())
    rules = load_config(None, {"state": "/nowhere"}).rules
    settings = replace(SETTINGS, target=PrefetchTarget("delay", 2 * HOUR_S, "delay 2h"))
    candidates = Candidates(store, clock, lambda: rules, lambda *_: False, settings, metrics)
    await store.planning.put_candidates({f"http://d{i}.org/": candidate(i) for i in range(3)})
    await store.planning.put_troubles({f"http://d{i}.org/": Trouble("unanswered", NOW_S) for i in range(2)})
    await candidates.hold(frozenset(range(SHARDS)))
    await OutlookPublisher(clock, candidates, settings, metrics, "me", "bestbefore-1").publish(store.planning)
    assert not caplog.records
    seen = await outlook(store, NOW_S, watched={"http://d0.org/", "http://d2.org/"})
    assert seen is not None
    assert (seen.target, seen.target_per_day) == ("delay 2h", pytest.approx(3 * 6.0, rel=0.01))
    assert seen.contacts_per_day == pytest.approx(48 * 0.95, rel=0.05), "as it was when it was computed"
    assert candidates.schedule.expected().cost_per_hour == pytest.approx(3 * 6.0 / 24.0, rel=0.01)
    assert (seen.watched, seen.troubled) == (2, (Troubled("http://d0.org/", "unanswered", NOW_S),))
    assert seen.target_best is None
    impossible = replace(settings, target=PrefetchTarget("delay", 60.0, "delay 1m"))
    publisher = OutlookPublisher(clock, candidates, impossible, metrics, "me", "bestbefore-1")
    for _ in range(2):
        await publisher.publish(store.planning)
        publisher._again_at_s = 0.0
    (said,) = caplog.messages
    assert "delay 1m is out of reach: at best 2.5m, with 864 fetches a day" in said
    (mine,) = (await outlook(store, NOW_S),)
    assert mine is not None
    assert mine.target_best == pytest.approx(150.0)


async def test_without_a_proxy_it_has_what_is_stored(store: Store) -> None:
    await store.planning.put_candidates({f"http://d{i}.org/": candidate(i) for i in range(30)})
    seen = await outlook(store, NOW_S, most=2)
    assert seen is not None
    assert (seen.objects, seen.proxies) == (30, 0)
    assert [fetch.url for fetch in seen.next] == ["http://d0.org/", "http://d1.org/"]


def test_several_are_one() -> None:
    def one(proxy: str, objects: int, price: float, freshness: float | None, *due_s: float) -> Outlook:
        fetches = tuple(Fetch(f"http://a.org/{at}", at, "") for at in due_s)
        means = Means(freshness, None, 5.0)
        return Outlook(NOW_S + objects, 9.0, "age", objects, 128, price, 4.0, means, means, fetches, proxy=proxy)

    workers = [one("a", 10, 1.0, 0.5, 1.0, 4.0), one("a", 30, 2.0, 0.9, 2.0, 3.0)]
    found = together([*workers, one("b", 0, 0.0, None)], 3)
    assert (found.made_s, found.objects, found.shards, found.proxies) == (NOW_S + 30, 40, 384, 2)
    assert (found.workers, together(workers, 3).proxies) == (3, 1)
    assert (found.price, found.contacts_per_day) == (pytest.approx(70.0 / 41), 12.0)
    assert found.expected == Means(pytest.approx(0.8), None, 5.0)
    assert [fetch.due_s for fetch in found.next] == [1.0, 2.0, 3.0]


def test_the_reason_says_how_often_it_changes() -> None:
    daily = Clockwork(86400.0, (ClockBeat(43200.0, 43260.0, 1.0),), 1.0)
    assert why(1 / 24, 2, daily) == "changes 1 times a day (daily at about 12:00 UTC), asked for 2 times in 8 days"
    assert why(0.0, 2) == "changes never, asked for 2 times in 8 days"
    assert why(1 / 96, 2) == "changes once in 4 days, asked for 2 times in 8 days"
