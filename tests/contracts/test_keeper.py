"""What every backend does for prefetching."""

import asyncio
from collections import Counter

import pytest

from bestbefore.addon.store.backend.keeper import SHARDS, Want, digest_of, shard_of

URL = "http://www.example.org/a?b c"
OTHER = "http://example.org/b"
LEASE_S = 30.0


@pytest.fixture
def keeper(backend):
    return backend.keeper


@pytest.fixture
async def known(backend, keeper):
    """A keeper of a store in which something of the domain was stored."""
    if hasattr(backend, "join_domains"):
        await backend.join_domains({"example.org"})
    return keeper


async def total(keeper, days):
    counts = Counter()
    async for _, part in keeper.wants(days):
        counts.update(part)
    return dict(counts)


async def test_wants_are_added_up_by_day_and_by_where_they_come_from(known):
    await known.add_wants(20_000, {Want(URL, ""): 2, Want(URL, "loopback"): 1})
    assert dict(await known.add_wants(20_000, {Want(URL, ""): 3})) == {Want(URL, ""): 5}
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
    if hasattr(backend, "join_domains"):
        await backend.join_domains({f"d{i}.org" for i in range(domains)})
    await keeper.add_wants(20_000, wants)
    assert await total(keeper, [19_999, 20_000]) == wants


async def test_the_demand_for_single_objects_is_that_of_the_days_asked_for(known):
    await known.add_wants(20_000, {Want(URL, ""): 2, Want(URL, "loopback"): 1})
    await known.add_wants(20_001, {Want(URL, ""): 3, Want(OTHER, "other"): 1})
    ranges = ("", "loopback")
    assert await known.asked([URL, OTHER], ranges, [20_000, 20_001]) == [{"": 5, "loopback": 1}, {}]
    assert await known.asked([URL], ranges, [20_001, 20_002]) == [{"": 3}]
    assert await known.asked([], ranges, [20_001]) == []


async def test_what_was_wanted_held_and_fetched_is_forgotten(known):
    await known.add_wants(20_000, {Want(URL, ""): 2, Want(OTHER, ""): 1})
    await known.put_candidates({URL: b"1", OTHER: b"2"})
    for url in (URL, OTHER):
        await known.take(url, "a", LEASE_S, 0.0)
        await known.finish(url, "a", 60.0)
    await known.forget(lambda url: url == URL)
    assert await total(known, [20_000]) == {Want(OTHER, ""): 1}
    assert (await known.candidate(URL), await known.candidate(OTHER)) == (None, b"2")
    assert await known.take(URL, "b", LEASE_S, 0.0) == 0.0
    assert await known.take(OTHER, "b", LEASE_S, 0.0) < 0.0


async def test_candidates_are_found_by_shard(keeper):
    found = {f"http://d{i}.org/": f"{i}".encode() for i in range(40)}
    await keeper.put_candidates(found)
    await keeper.put_candidates({"http://d3.org/": None, "http://d4.org/": b"new"})
    expected = {**found, "http://d4.org/": b"new"}
    del expected["http://d3.org/"]
    read = {}
    for shard in range(SHARDS):
        async for part in keeper.candidates(shard):
            assert all(shard_of(digest_of(url)) == shard for url in part)
            read.update(part)
    assert read == expected


async def test_a_single_process_holds_all_shards(keeper):
    for _ in range(2):
        held = await keeper.hold("one", 60.0)
        assert (held.part, len(held.shards)) == (SHARDS, SHARDS)
    await keeper.put_outlook("one", b"outlook")
    assert await keeper.outlooks() == [b"outlook"]
    await keeper.let_go("one")
    assert await keeper.outlooks() == []


async def test_a_fetch_is_taken_once_and_when_it_is_made_another_holder_waits(keeper):
    assert await keeper.take(URL, "a", LEASE_S, 0.0) == 0.0
    assert -LEASE_S <= await keeper.take(URL, "b", LEASE_S, 0.0) < 0.0
    await keeper.finish(URL, "b", 60.0)  # not b's to finish
    assert await keeper.take(URL, "b", LEASE_S, 0.0) >= -LEASE_S
    await keeper.finish(URL, "a", 60.0)
    assert -60.0 <= await keeper.take(URL, "b", LEASE_S, 0.0) < -LEASE_S
    assert await keeper.take(URL, "a", LEASE_S, 0.0) == 0.0


async def test_a_fetch_that_is_given_back_can_be_taken(keeper):
    await keeper.take(URL, "a", LEASE_S, 0.0)
    await keeper.release(URL, "b")
    assert await keeper.take(URL, "b", LEASE_S, 0.0) < 0.0
    await keeper.release(URL, "a")
    assert await keeper.take(URL, "b", LEASE_S, 0.0) == 0.0


async def test_when_the_lease_of_a_killed_holder_ends_the_fetch_is_another_ones(keeper):
    assert await keeper.take(URL, "killed", LEASE_S, 0.0) == 0.0
    assert await keeper.renew(URL, "killed", 0.05)
    await asyncio.sleep(0.07)
    assert not await keeper.renew(URL, "killed", LEASE_S)
    assert await keeper.take(URL, "b", LEASE_S, 0.0) == 0.0
    await keeper.finish(URL, "killed", 60.0)
    assert await keeper.take(URL, "c", LEASE_S, 0.0) >= -LEASE_S


async def test_a_lease_that_is_renewed_does_not_end(keeper):
    await keeper.take(URL, "a", LEASE_S, 0.0)
    assert await keeper.renew(URL, "a", 10 * LEASE_S)
    assert await keeper.take(URL, "b", LEASE_S, 0.0) < -LEASE_S


async def test_the_interval_lies_between_two_fetches_of_a_domain_for_any_holder(keeper):
    assert await keeper.take(URL, "a", LEASE_S, 20.0) == 0.0
    assert 0.0 < await keeper.take(OTHER, "b", LEASE_S, 20.0) <= 20.0
    assert await keeper.take("http://example.com/", "b", LEASE_S, 20.0) == 0.0


async def test_a_paused_domain_is_left_alone_and_a_shorter_pause_does_not_end_it(keeper):
    await keeper.pause("example.org", 50.0)
    await keeper.pause("example.org", 1.0)
    assert 40.0 < await keeper.take(URL, "a", LEASE_S, 0.0) <= 50.0


async def test_the_budget_is_spent_once(keeper):
    assert [await keeper.spend(10, 5, 3) for _ in range(2)] == [True, True]
    assert await keeper.spend(11, 5, 3)
    assert not await keeper.spend(11, 5, 3)
    assert await keeper.spent(5) == 3
    assert await keeper.spent(11) == 1
    assert await keeper.spend(12, 11, 3), "what was spent long ago counts no more"


async def test_received_bytes_are_counted_beside_fetches(keeper):
    await keeper.receive(10, 5, 1_000_000)
    await keeper.receive(10, 5, 500)
    await keeper.receive(12, 5, 7)
    assert (await keeper.received_bytes(5), await keeper.received_bytes(11)) == (1_000_507, 7)
    await keeper.receive(12, 12, 1)
    assert (await keeper.received_bytes(5), await keeper.spent(5)) == (8, 0)


async def test_troubles_are_kept_until_they_are_removed_or_forgotten(keeper):
    await keeper.put_troubles({URL: b"a", OTHER: b"b"})
    await keeper.put_troubles({URL: None})
    assert await keeper.troubles() == {OTHER: b"b"}
    await keeper.forget(lambda url: url == OTHER)
    assert await keeper.troubles() == {}
