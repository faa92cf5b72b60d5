"""From what the store knows to a plan, and what of it is shown."""

from collections import Counter
from collections.abc import AsyncIterator

import numpy as np
import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.prefetcher.candidates import Candidate, candidates, requested_urls
from bestbefore.addon.prefetcher.outlook import outlook
from bestbefore.addon.prefetcher.planner import PLANNED_PART, make_plan
from bestbefore.addon.store.backend.keeper import Want
from bestbefore.addon.store.cache.planning import Demand, Planning
from bestbefore.addon.store.store import Store
from bestbefore.addon.wishes import FetchRate
from bestbefore.policies.models.rates.evidence import Evidence
from tests.addon.store.memory_backend import open_memory_store

DAY_S = 86_400.0
HOUR_S = 3600.0
NOW_S = 20_000 * DAY_S
SETTINGS = PrefetchSettings(enabled=True, budget=FetchRate(10, DAY_S))


def candidate(url: str, *, updates: int = 10, hours: float = 240.0, requests: float = 1.0, at: int | None = None,
              ago_h: float = 1.0) -> Candidate:
    profile = np.zeros(24)
    if at is not None:
        profile[at] = 100.0
    return Candidate(
        url, url.split("/")[2], "group", Evidence(updates, hours), profile, requests, NOW_S - ago_h * HOUR_S,
        ("loopback",),
    )


def test_a_plan_has_the_jobs_of_the_next_day_in_their_order() -> None:
    plan = make_plan([candidate("http://a.org/"), candidate("http://b.org/")], SETTINGS, NOW_S)
    assert (plan.made_s, plan.until_s, plan.objects, plan.budget_per_day) == (NOW_S, NOW_S + DAY_S, 2, 10.0)
    assert len(plan.jobs) == 10  # 4.75 each, by the largest remainder
    due_s = [job.due_s for job in plan.jobs]
    assert due_s == sorted(due_s)
    job = plan.jobs[0]
    assert job.per_day == pytest.approx(5.0 * PLANNED_PART)
    assert job.rate_per_hour == pytest.approx(1 / 24, rel=0.1)
    assert (job.requests_per_hour, job.asked_from) == (1.0, ("loopback",))


def test_without_candidates_there_is_an_empty_plan() -> None:
    assert make_plan([], SETTINGS, NOW_S).jobs == ()


def test_what_is_more_wanted_is_fetched_more_often_and_is_worth_more() -> None:
    plan = make_plan(
        [candidate("http://a.org/", requests=9.0), candidate("http://b.org/")],
        PrefetchSettings(budget=FetchRate(8, DAY_S), objective="delay"), NOW_S,
    )
    per_day = {job.url: job.per_day for job in plan.jobs}
    assert per_day == pytest.approx({"http://a.org/": 6.0 * PLANNED_PART, "http://b.org/": 2.0 * PLANNED_PART})


def test_a_new_object_is_fetched_at_the_hours_of_its_group() -> None:
    known = [candidate(f"http://a{n}.org/", updates=100, at=8) for n in range(6)]
    new = candidate("http://new.org/", updates=0, hours=0.5, ago_h=12.0)
    plan = make_plan([*known, new], PrefetchSettings(budget=FetchRate(10, DAY_S), objective="delay"), NOW_S)
    (at_h,) = [(job.due_s - NOW_S) / HOUR_S for job in plan.jobs if job.url == new.url]
    assert 8.5 <= at_h <= 9.5


def test_a_clock_that_was_set_back_is_no_reason_to_wait() -> None:
    plan = make_plan([candidate("http://a.org/", ago_h=-1000.0)], SETTINGS, NOW_S)
    assert plan.jobs
    assert plan.jobs[0].due_s <= NOW_S + DAY_S


def test_only_what_was_asked_for_twice_is_wanted_and_the_most_wanted_first() -> None:
    counts = {
        Want("http://a.org/1", ""): 1,
        Want("http://a.org/2", ""): 1,
        Want("http://a.org/2", "loopback"): 1,
        Want("http://a.org/3", "10.0.0.0/8"): 5,
        Want("http://a.org/logout", ""): 9,
        Want("http://a.org/?token=1", ""): 9,
        Want("http://a.org/4", ""): 9,
    }
    wanted = Demand(Counter(counts), NOW_S)
    assert requested_urls(wanted, {"http://a.org/4"}) == [
        ("http://a.org/3", 5, ("10.0.0.0/8",)),
        ("http://a.org/2", 2, ("loopback",)),
    ]


def test_of_urls_that_are_wanted_alike_the_first_by_name_come_first() -> None:
    wanted = Demand(Counter({Want(f"http://a.org/{name}", ""): 2 for name in "bca"}), NOW_S)
    assert [url[-1] for url, _, _ in requested_urls(wanted, ())] == ["a", "b", "c"]


@pytest.fixture
async def store() -> AsyncIterator[tuple[Store, ManualClock]]:
    clock = ManualClock(NOW_S + 10 * HOUR_S)
    made = await open_memory_store(clock=clock)
    yield made, clock
    await made.close()


async def test_candidates_are_what_is_wanted_and_known(store: tuple[Store, ManualClock]) -> None:
    known, clock = store
    urls = ["http://www.a.org/x", "http://b.org/x", "http://secret.org/x", "http://c.org/unknown"]
    for url in urls[:3]:
        for hour in (1.0, 5.0, 9.0):
            shown, group = Fingerprint(etag=f'"{hour}"'), '"g"@http://b.org' if "b.org" in url else ""
            await known.learn(Observation(url, NOW_S + hour * HOUR_S, "", shown, cache_group=group))
    for url in urls:
        for _ in range(20):
            known.planning.want(url, "loopback")
    known.planning.want("http://b.org/x", "10.0.0.0/8")
    found = await candidates(
        known,
        clock,
        lambda host, path, group: group or f"group of {host}{path}",
        lambda host: host == "secret.org",
        frozenset(),
    )
    assert found is not None
    assert [(one.url, one.domain, one.group, one.asked_from) for one in found] == [
        ("http://b.org/x", "b.org", '"g"@http://b.org', ("10.0.0.0/8", "loopback")),
        ("http://www.a.org/x", "a.org", "group of www.a.org/x", ("loopback",)),
    ]
    assert found[1].requests_per_hour == 2.0, "20 in the ten hours of this day, the first on which any were counted"
    assert found[1].last_contact_s == NOW_S + 9 * HOUR_S
    assert found[1].seen.changed_h.tolist() == [4.0, 4.0]


async def test_the_outlook_is_what_is_to_come(store: tuple[Store, ManualClock]) -> None:
    known, _ = store
    assert await outlook(known, NOW_S) is None
    plan = make_plan([candidate("http://a.org/", ago_h=0.0), candidate("http://b.org/", ago_h=0.0)], SETTINGS, NOW_S)
    await known.planning.put_plan(plan)
    await known.planning.spend(int(NOW_S // HOUR_S), 0, 100)
    seen = await outlook(known, NOW_S + 6 * HOUR_S, most=3)
    assert seen is not None
    assert (seen.objects, seen.planned, seen.spent_today) == (2, 8, 1)
    assert len(seen.next) == 3
    assert seen.next[0].due_s >= NOW_S + 6 * HOUR_S
    assert seen.next[0].gain > 0.0
    assert "asked for 24 times a day: for freshness fetched 4.75 times a day" in seen.next[0].why
    alone = await outlook(known, NOW_S, url="http://b.org/")
    assert alone is not None
    assert {fetch.url for fetch in alone.next} == {"http://b.org/"}


async def test_much_that_is_new_is_known_of(store: tuple[Store, ManualClock]) -> None:
    known, _ = store
    await known.planning.put_plan(make_plan([candidate("http://a.org/")], SETTINGS, NOW_S))
    for url in ("http://a.org/", "http://new.org/", "http://once.org/", "http://a.org/", "http://new.org/"):
        known.planning.want(url, "")
    assert known.planning.news == 1
    assert await known.planning.demand() is not None
    assert known.planning.news == 0, "it was looked at, and may be no candidate"


async def test_what_is_wanted_while_a_plan_is_made_is_news_unless_it_is_in_it(store: tuple[Store, ManualClock]) -> None:
    known, _ = store
    known.planning.want("http://late.org/", "")
    assert await known.planning.demand() is not None
    for url in ("http://late.org/", "http://new.org/", "http://a.org/", "http://new.org/", "http://a.org/"):
        known.planning.want(url, "")
    assert await known.planning.plan() is None
    await known.planning.put_plan(make_plan([candidate("http://a.org/")], SETTINGS, NOW_S))
    assert await known.planning.plan() is not None
    assert known.planning.news == 2


async def test_a_plan_that_another_has_made_leaves_no_news(store: tuple[Store, ManualClock]) -> None:
    known, clock = store
    another = Planning(known.planning._link, clock, known.planning._notices, known._faults)
    for _ in range(2):
        known.planning.want("http://new.org/", "")
    await another.put_plan(make_plan([candidate("http://a.org/")], SETTINGS, NOW_S))
    assert known.planning.news == 1
    await known.planning.plan()
    assert known.planning.news == 0


async def test_what_is_forgotten_is_neither_wanted_nor_planned(store: tuple[Store, ManualClock]) -> None:
    known, clock = store
    await known.planning.put_plan(make_plan([candidate("http://a.org/"), candidate("http://b.org/")], SETTINGS, NOW_S))
    for url in ("http://a.org/", "http://b.org/"):
        known.planning.want(url, "")
    await known.flush()
    known.planning.want("http://a.org/", "")
    await known.forget("a.org")
    wanted, plan = await known.planning.demand(), await known.planning.plan()
    assert wanted is not None
    assert plan is not None
    assert {want.url for want in wanted.counts} == {job.url for job in plan.jobs} == {"http://b.org/"}
    assert clock.now() > NOW_S


async def test_what_was_contacted_once_may_teach_and_what_never_shows_a_change_does_not(
    store: tuple[Store, ManualClock]
) -> None:
    known, clock = store
    url = "http://a.org/"
    for _ in range(20):
        known.planning.want(url, "loopback")
    for hour, expected in ((1.0, [url]), (5.0, [])):
        await known.learn(Observation(url, NOW_S + hour * HOUR_S, "", Fingerprint(body="a"), counted=False))
        found = await candidates(known, clock, lambda host, *_: host, lambda _: False, frozenset())
        assert found is not None
        assert [one.url for one in found] == expected
