"""What every backend does for prefetching."""

import asyncio
from collections import Counter

import pytest

from bestbefore.addon.store.backend.keeper import DONE, Want
from bestbefore.addon.store.plan import Job, Plan, decode, encode

URL = "http://www.example.org/a?b c"
OTHER = "http://example.org/b"
LEASE_S = 30.0


@pytest.fixture
def keeper(backend):
    return backend.keeper


@pytest.fixture
async def known(backend, keeper):
    """A keeper of a store in which something of the domain was stored."""
    if hasattr(backend, "_join_domains"):
        await backend._join_domains({"example.org"})
    return keeper


async def total(keeper, days):
    counts = Counter()
    async for _, part in keeper.wants(days):
        counts.update(part)
    return dict(counts)


async def test_wants_are_added_up_by_day_and_by_where_they_come_from(known):
    await known.add_wants(20_000, {Want(URL, ""): 2, Want(URL, "loopback"): 1})
    await known.add_wants(20_000, {Want(URL, ""): 3})
    await known.add_wants(20_001, {Want(OTHER, "10.0.0.0/8"): 1})
    assert await total(known, [20_000]) == {Want(URL, ""): 5, Want(URL, "loopback"): 1}
    assert await total(known, [20_000, 20_001]) == {
        Want(URL, ""): 5,
        Want(URL, "loopback"): 1,
        Want(OTHER, "10.0.0.0/8"): 1,
    }
    assert await total(known, [19_999]) == {}
    assert {day async for day, part in known.wants(range(19_990, 20_010)) if part} == {20_000, 20_001}


@pytest.mark.parametrize("domains", [1, 16, 33])
async def test_wants_of_any_number_of_domains_are_returned(backend, keeper, domains):
    wants = {Want(f"http://d{i}.org/", ""): i + 1 for i in range(domains)}
    if hasattr(backend, "_join_domains"):
        await backend._join_domains({f"d{i}.org" for i in range(domains)})
    await keeper.add_wants(20_000, wants)
    assert await total(keeper, [19_999, 20_000]) == wants


async def test_what_was_wanted_and_done_is_forgotten(known):
    await known.add_wants(20_000, {Want(URL, ""): 2, Want(OTHER, ""): 1})
    for url in (URL, OTHER):
        await known.take(url, 100.0, "a", LEASE_S, 0.0)
        await known.finish(url, "a", 100.0, 60.0)
    await known.forget(lambda url: url == URL)
    assert await total(known, [20_000]) == {Want(OTHER, ""): 1}
    assert await known.take(URL, 100.0, "a", LEASE_S, 0.0) == 0.0
    assert await known.take(OTHER, 100.0, "a", LEASE_S, 0.0) == DONE


async def test_the_first_that_asks_may_plan(keeper):
    assert await keeper.lead("one", 60.0)
    assert await keeper.lead("one", 60.0)


async def test_a_plan_is_replaced_whole(keeper):
    assert (await keeper.plan_version(), await keeper.plan()) == ("", None)
    await keeper.put_plan("1", b"one")
    await keeper.put_plan("2", b"two")
    assert (await keeper.plan_version(), await keeper.plan()) == ("2", b"two")


async def test_a_job_is_taken_once_and_when_it_is_done_only_a_later_one_is(keeper):
    assert await keeper.take(URL, 100.0, "a", LEASE_S, 0.0) == 0.0
    assert 0.0 < await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) <= LEASE_S
    await keeper.finish(URL, "b", 100.0, 60.0)  # not b's to finish
    assert await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) > 0.0
    await keeper.finish(URL, "a", 100.0, 60.0)
    assert await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) == DONE
    assert await keeper.take(URL, 99.0, "b", LEASE_S, 0.0) == DONE
    assert await keeper.take(URL, 100.5, "b", LEASE_S, 0.0) == 0.0


async def test_a_job_that_is_given_back_can_be_taken(keeper):
    await keeper.take(URL, 100.0, "a", LEASE_S, 0.0)
    await keeper.release(URL, "b")
    assert await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) > 0.0
    await keeper.release(URL, "a")
    assert await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) == 0.0


async def test_when_the_lease_of_a_killed_holder_ends_the_job_is_another_ones(keeper):
    assert await keeper.take(URL, 100.0, "killed", LEASE_S, 0.0) == 0.0
    assert 0.0 < await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) <= LEASE_S
    assert await keeper.renew(URL, "killed", 0.05)
    await asyncio.sleep(0.07)
    assert await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) == 0.0
    assert not await keeper.renew(URL, "killed", LEASE_S)
    await keeper.finish(URL, "killed", 100.0, 60.0)
    assert await keeper.take(URL, 100.0, "c", LEASE_S, 0.0) > 0.0


async def test_a_lease_that_is_renewed_does_not_end(keeper):
    await keeper.take(URL, 100.0, "a", LEASE_S, 0.0)
    assert await keeper.renew(URL, "a", 10 * LEASE_S)
    assert await keeper.take(URL, 100.0, "b", LEASE_S, 0.0) > LEASE_S


async def test_the_interval_lies_between_two_jobs_of_a_domain_for_any_holder(keeper):
    assert await keeper.take(URL, 100.0, "a", LEASE_S, 20.0) == 0.0
    assert 0.0 < await keeper.take(OTHER, 100.0, "b", LEASE_S, 20.0) <= 20.0
    assert await keeper.take("http://example.com/", 100.0, "b", LEASE_S, 20.0) == 0.0


async def test_a_paused_domain_is_left_alone_and_a_shorter_pause_does_not_end_it(keeper):
    await keeper.pause("example.org", 50.0)
    await keeper.pause("example.org", 1.0)
    assert 40.0 < await keeper.take(URL, 100.0, "a", LEASE_S, 0.0) <= 50.0


async def test_the_budget_is_spent_once(keeper):
    assert [await keeper.spend(10, 5, 3) for _ in range(2)] == [True, True]
    assert await keeper.spend(11, 5, 3)
    assert not await keeper.spend(11, 5, 3)
    assert await keeper.spent(5) == 3
    assert await keeper.spent(11) == 1
    assert await keeper.spend(12, 11, 3), "what was spent long ago counts no more"


def test_a_plan_comes_back_as_it_was_written():
    plan = Plan(1.0, 2.0, 5000.0, "freshness", 7, (Job(URL, 1.5, 0.25, 3.0, 0.1, 4.0, ("loopback",)),))
    assert decode(encode(plan)) == plan
    assert plan.version == decode(encode(plan)).version != Plan(1.5, 2.0, 5000.0, "freshness", 7).version
    assert plan.without(lambda url: url == URL).jobs == ()


@pytest.mark.parametrize("encoded", [b"", b"\xc1", b"\x81\xa1a\x01"])
def test_what_is_no_plan_is_refused(encoded):
    with pytest.raises(ValueError, match="cannot be read"):
        decode(encoded)
