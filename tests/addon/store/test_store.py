"""The store as the shell uses it: on a server and without, beside another proxy, and while the server is down."""

import asyncio
import resource
import time

import pytest

from bestbefore.addon.clock import ManualClock, RealClock
from bestbefore.addon.engine.update import Update
from bestbefore.addon.store.backend.interface import CopySet, UnwritableError
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.cache import write_behind
from tests.addon.store.waiting import PATIENCE_S, until

URL = "http://www.example.org/a"
DOMAIN = "example.org"


def everything(host):
    return True


async def group(store, name=DOMAIN, belongs=everything, domain=DOMAIN):
    counts = await store.group(name, belongs, domain)
    return dict(counts.updates), dict(counts.starts)


# Copies


async def test_a_copy_is_served_at_once_from_process(store, copy_of):
    copy = copy_of(URL)
    store.put(copy, b"hello")
    assert store.hot(URL) == await store.copies(URL) == CopySet((copy,), {copy.body.digest: b"hello"})
    assert await store.body(copy) == b"hello"


async def test_what_is_not_known_is_no_copy(store, copy_of):
    assert store.hot(URL) is None
    assert await store.copies(URL) == CopySet()
    assert await store.body(copy_of(URL)) is None


async def test_workers_look_for_what_another_has_stored_since(open_a_store, valkey, copy_of, monkeypatch):
    monkeypatch.setattr(write_behind, "GATHER_S", 60.0)  # that of a proxy alone
    one, other = [await open_a_store(valkey.url, processes=2) for _ in range(2)]
    now_s = RealClock().now()
    for body in (b"first", b"second"):
        copy = copy_of(URL, body, now_s)
        one.put(copy, body)
        await until(lambda: not one.status().pending_copies)
        assert [found.body for found in (await other.copies(URL)).copies] == [copy.body]
        assert not other.hot(URL).complete, "an expired one is looked for again"
        now_s += 1.0


async def test_copies_of_one_partition_answer_no_other(store, copy_of):
    store.put(copy_of(URL, partition="one"), b"hello")
    await store.flush()
    assert store.hot(URL) is None
    assert (await store.copies(URL)).copies == (await store.copies(URL, "two")).copies == ()
    assert len((await store.copies(URL, "one")).copies) == 1


async def test_variants_come_latest_first_and_each_once(store, copy_of):
    one, two = (copy_of(URL, body, 1000.0 + i, selecting=(("a", str(i)),)) for i, body in enumerate([b"1", b"2"]))
    renewed = copy_of(URL, b"3", 1005.0, selecting=(("a", "0"),))
    for copy, body in ((one, b"1"), (two, b"2"), (renewed, b"3")):
        store.put(copy, body)
    assert store.hot(URL).copies == (renewed, two)
    assert set(store.hot(URL).bodies.values()) == {b"2", b"3"}


async def test_a_hot_set_may_lack_variants_that_the_backend_has(open_a_store, valkey, copy_of):
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    first.put(copy_of(URL, b"1", selecting=(("a", "1"),)), b"1")
    await first.flush()
    second.put(copy_of(URL, b"2", selecting=(("a", "2"),)), b"2")
    assert len(second.hot(URL).copies) == 1
    found = await second.copies(URL)
    assert [await second.body(copy) for copy in found.copies] == [b"2", b"1"]


async def test_a_copy_too_large_for_the_process_is_served_before_and_after_it_is_written(open_a_store, where, copy_of):
    store = await open_a_store(where, hot_max=100_000)
    body = bytes(200_000)
    copy = copy_of(URL, body)
    store.put(copy, body)
    assert await store.body(copy) == body
    await store.flush()
    assert (await store.copies(URL)).copies == (copy,)
    assert await store.body(copy) == body
    assert store.status().memory_cache_bytes < 100_000


async def test_content_in_a_file_is_served_before_and_after_it_is_written(open_a_store, where, copy_of, tmp_path):
    store = await open_a_store(where)
    body, file = bytes(range(256)) * 8192, UnlinkedFile(tmp_path)
    file.add(body)
    copy = copy_of(URL, body)
    store.put(copy, file)
    assert await store.body(copy) is file
    assert store.hot(URL).bodies == {}
    await store.flush()
    kept = await store.body(copy)
    assert (kept if isinstance(kept, bytes) else kept.read_bytes()) == body


async def test_what_left_the_process_is_read_again(open_a_store, where, copy_of):
    store = await open_a_store(where, hot_max=20_000)
    copies = [copy_of(f"{URL}/{i}", b"%d" % i) for i in range(50)]
    for i, copy in enumerate(copies):
        store.put(copy, b"%d" % i)
    await store.flush()
    assert store.hot(copies[0].url) is None
    found = await store.copies(copies[0].url)
    assert (found.copies, await store.body(copies[0])) == ((copies[0],), b"0")


async def test_a_validated_copy_keeps_its_body(store, copy_of):
    copy = copy_of(URL, expiry_s=50.0)
    store.put(copy, b"hello")
    renewed = copy.with_verdict(60.0, "ttl", "rule")
    store.put(renewed, None)
    await store.flush()
    store.put(renewed.with_verdict(70.0, "ttl", "rule"), None)
    await store.flush()
    (found,) = (await store.copies(URL)).copies
    assert (found.expiry_s, await store.body(found)) == (70.0, b"hello")


# Purge and forget


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("http://a.example.org/1", 3),
        ("http://a.example.org/*", 2),
        ("a.example.org", 2),
        ("*.example.org", 1),
        ("*.example.org/2", 3),
        ("*", 0),
        ("http://c/", 4),
    ],
)
async def test_a_purge_removes_the_copies_of_all_that_match_and_counts_them(store, copy_of, pattern, left):
    urls = ["http://a.example.org/1", "http://a.example.org/2", "https://b.example.org:8443/3", "http://example.org/1"]
    for url in urls:
        store.put(copy_of(url), b"hello")
    await store.flush()
    assert await store.purge(pattern) == 4 - left
    assert len([url for url in urls if (await store.copies(url)).copies]) == left


async def test_a_purge_leaves_histories(store, observe):
    await store.learn(observe(URL, 1000))
    await store.purge("*")
    assert (await store.record(URL)).since_s == 1000


async def test_forgetting_removes_all_that_was_known(store, observe, copy_of):
    other = "http://b.example.org/"
    for url in (URL, other):
        await store.learn(observe(url, 1000, "a"))
        await store.learn(observe(url, 5000, "b"))
        store.put(copy_of(url), b"hello")
        store.requested(url)
    await store.flush()
    await store.learn(observe(URL, 6000, "c"))
    assert await store.forget("www.example.org") == 1
    assert await store.record(URL) is None
    assert (await store.copies(URL)).copies == ()
    assert await store.top(5) == [(other, 1)]
    assert await group(store) == ({0: 1}, {0: 1})
    assert [url async for url in store.urls()] == [other]


async def test_what_is_learnt_after_forgetting_starts_a_new_history(store, observe):
    await store.learn(observe(URL, 1000, "a"))
    await store.flush()
    forgetting = asyncio.create_task(store.forget(URL))
    await asyncio.sleep(0)
    later_s = time.time() + 1
    await store.learn(observe(URL, later_s, "b"))
    await forgetting
    await store.flush()
    record = await store.record(URL)
    assert (record.since_s, record.contacts) == (later_s, 1)


async def test_a_pattern_that_cannot_be_read_is_an_error_and_nothing_is_removed(store, copy_of):
    store.put(copy_of(URL), b"hello")
    with pytest.raises(ValueError, match="host"):
        await store.purge("not a host!")
    assert store.hot(URL) is not None


# Histories


async def test_what_is_learnt_is_known_at_once_and_still_when_written(store, observe):
    learnt = [await store.learn(observe(URL, t, body)) for t, body in [(1000, "a"), (2000, "b"), (3000, "b")]]
    assert [one.changed for one in learnt] == [None, True, False]
    assert await store.record(URL) == learnt[-1].record
    await store.flush()
    assert store.status().pending_observations == 0
    assert await store.record(URL) == learnt[-1].record


async def test_all_records_that_were_written_can_be_read(store, observe):
    urls = [f"http://{host}.org/{i}" for host in "ab" for i in range(300)]
    for url in urls:
        await store.learn(observe(url, 1000))
    await store.flush()
    assert sorted([record.url async for record in store.records()]) == sorted(urls)
    await store.forget("a.org")
    assert sorted([record.url async for record in store.records()]) == sorted(urls[300:])


async def test_a_client_that_goes_away_while_it_reads_mixes_up_no_answers(open_a_store, valkey, copy_of):
    store = await open_a_store(valkey.url, hot_max=1)
    for i in range(200):
        store.put(copy_of(f"{URL}/{i}", b"%d" % i), b"%d" % i)
    await store.flush()

    async def read(i):
        (copy,) = (await store.copies(f"{URL}/{i}")).copies
        return await store.body(copy)

    reads = {i: asyncio.create_task(read(i)) for i in range(200)}
    for i in range(0, 200, 3):
        await asyncio.sleep(0)
        reads[i].cancel()
    answers = await asyncio.gather(*reads.values(), return_exceptions=True)
    assert all(isinstance(a, asyncio.CancelledError) or a == b"%d" % i for i, a in zip(reads, answers, strict=True))
    assert sum(isinstance(a, bytes) for a in answers) >= 133
    assert not store.status().down


async def test_the_same_observation_twice_counts_once(store, observe):
    for _ in range(2):
        for t, body in [(1000, "a"), (5000, "b")]:
            await store.learn(observe(URL, t, body))
        await store.flush()
    assert (await store.record(URL)).contacts == 2
    assert await group(store) == ({0: 1}, {0: 1})


async def test_contacts_at_the_same_time_are_learnt_in_turn(store, observe):
    await asyncio.gather(*(store.learn(observe(URL, 1000 + i, i)) for i in range(20)))
    await store.flush()
    record = await store.record(URL)
    assert (record.contacts, len(record.updates)) == (20, 19)


async def test_a_clock_set_back_keeps_an_object_learning(open_a_store, where, observe):
    clock = ManualClock(1e6)
    store = await open_a_store(where, clock=clock)
    for t, body in [(1000, "a"), (9e5, "b")]:
        await store.learn(observe(URL, t, body))
    await store.flush()
    clock.set(5000)
    learnt = await store.learn(observe(URL, 4999.5, "c"))
    assert learnt.applied
    assert (learnt.record.last_contact_s, learnt.record.updates) == (4999.5, (Update(1000.0, 4999.5),))
    await store.flush()
    assert await group(store) == ({0: 1}, {0: 1})


@pytest.mark.usefixtures("only_flushed")
async def test_two_proxies_learn_one_history(open_a_store, valkey, observe):
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    await first.learn(observe(URL, 1000, "a"))
    await first.flush()
    await second.learn(observe(URL, 2000, "b"))
    await first.learn(observe(URL, 3000, "c"))
    await first.flush()  # the second writes from a version that is no longer there
    await second.learn(observe(URL, 4000, "d"))
    while second.status().pending_observations:
        await second.flush()
    record = await first.record(URL)
    assert record == await second.record(URL)
    assert (record.last_contact_s, record.contacts) == (4000, 3), "what is older than the last contact is dropped"
    counts = await group(first)
    first.regroup()
    assert await group(first) == await group(second) == ({0: 2}, {0: 1})
    assert counts[1] == {0: 1}


# Groups


async def test_group_counts_are_those_of_the_hosts_that_belong(store, observe):
    for host, other_day in (("a.example.org", 0), ("b.example.org", 86_400), ("a.example.com", 0)):
        for t, body in [(1000, "a"), (4000, "b"), (4600, "c")]:
            await store.learn(observe(f"http://{host}/", t + other_day, body))
    assert await group(store) == ({0: 1, 24: 1, 1: 1, 25: 1}, {0: 1, 24: 1})
    assert await group(store, "of a", lambda host: host.startswith("a."), None) == ({0: 2, 1: 2}, {0: 2})
    assert await group(store, "none", lambda host: False, None) == ({}, {})


async def test_group_counts_are_the_same_before_and_after_they_are_written(store, observe):
    await store.learn(observe(URL, 1000, "a"))
    await store.learn(observe(URL, 2000, "b"))
    before = await group(store)
    await store.flush()
    assert await group(store) == before
    store.regroup()
    assert await group(store) == before == ({0: 1}, {0: 1})


async def test_a_group_follows_what_is_learnt_with_a_new_generation(store, observe):
    await store.learn(observe(URL, 1000, "a"))
    first = await store.group(DOMAIN, everything, DOMAIN)
    await store.learn(observe(URL, 2000, "b"))
    second = await store.group(DOMAIN, everything, DOMAIN)
    again = await store.group(DOMAIN, everything, DOMAIN)
    assert first.generation != second.generation == again.generation
    assert dict(second.updates) == {0: 1}


async def test_changed_rules_rebuild_groups_from_what_is_kept(store, observe):
    await store.learn(observe(URL, 1000, "a"))
    await store.learn(observe(URL, 2000, "b"))
    assert await group(store, "g", lambda host: False, None) == ({}, {})
    store.regroup()
    assert await group(store, "g", everything, None) == ({0: 1}, {0: 1})


async def test_what_other_proxies_learn_is_in_a_group_within_a_minute(open_a_store, valkey, observe):
    clock = ManualClock(1e6)
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url, clock=clock)
    assert await group(second) == ({}, {})
    await first.learn(observe(URL, 1000, "a"))
    await first.learn(observe(URL, 2000, "b"))
    await first.flush()
    assert await group(second) == ({}, {})
    clock.advance(61)
    await group(second)  # asks for it to be read again
    store_counts = ({0: 1}, {0: 1})
    deadline = time.monotonic() + PATIENCE_S
    while await group(second) != store_counts:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


# Counting


async def test_requests_are_added_up(store):
    for _ in range(3):
        store.requested(URL)
    store.requested("http://b.com/")
    await store.flush()
    store.requested(URL)
    assert await store.top(1) == [(URL, 4)]
    assert await store.top(9) == [(URL, 4), ("http://b.com/", 1)]
    store.requested("http://c.com/")
    assert await store.top(9) == [(URL, 4), ("http://c.com/", 1), ("http://b.com/", 1)]


# The server is away


async def test_while_down_it_serves_and_learns_and_then_writes(start_valkey, open_a_store, observe, copy_of, logged):
    server = start_valkey("--appendonly", "yes", "--appendfsync", "always")
    store = await open_a_store(server.url)
    await store.learn(observe(URL, 1000, "a"))
    store.put(copy_of(URL), b"hello")
    await store.flush()
    server.kill()
    for i in range(50):
        learnt = await store.learn(observe(URL, 2000 + i, i))
        await store.learn(observe(f"{URL}/{i}", 2000, "x"))
        store.requested(URL)
    assert (learnt.record.contacts, learnt.changed) == (51, True)
    assert await store.record(URL) == learnt.record
    assert (await store.copies(URL)).copies == store.hot(URL).copies
    store.drop(URL)
    status = store.status()
    assert (status.down, status.pending_observations, "down" in status.conditions) == (True, 100, True)
    server.start()
    await until(lambda: not store.status().down and not store.status().pending_observations)
    await store.flush()
    assert await store.record(URL) == learnt.record
    assert len([url async for url in store.urls()]) == 51
    assert (await store.copies(URL)).copies == ()
    assert await store.top(1) == [(URL, 50)]
    assert [message.split(" (")[0] for message in logged()] == [
        "the store is down",
        "the store is up again; what was learnt meanwhile is being written to it",
    ]


async def test_away_at_the_start_it_joins_what_the_server_already_knows(start_valkey, open_a_store, observe):
    server = start_valkey("--appendonly", "yes", "--appendfsync", "always")
    before = await open_a_store(server.url)
    await before.learn(observe(URL, 1000, "a"))
    await before.flush()
    server.kill()
    store = await open_a_store(server.url)
    assert store.status().down
    learnt = await store.learn(observe(URL, 2000, "b"))
    assert (learnt.record.contacts, learnt.changed) == (1, None)  # as far as is known here
    server.start()
    await until(lambda: not store.status().down and not store.status().pending_observations)
    record = await store.record(URL)
    assert (record.since_s, record.contacts, record.updates) == (1000, 2, (Update(1000, 2000),))
    assert await group(store) == ({0: 1}, {0: 1})


async def test_a_silent_server_costs_one_answer_and_then_nothing(start_valkey, open_a_store):
    server = start_valkey()
    store = await open_a_store(server.url)
    with server.client as client:
        client.execute_command("CLIENT", "PAUSE", 30_000)
        began = time.monotonic()
        await store.record(URL)
        assert 1.9 < time.monotonic() - began < 20
        began = time.monotonic()
        for i in range(100):
            await store.record(f"{URL}/{i}")
        assert time.monotonic() - began < 20, "not one after the other 2 s"
    server.kill()


async def test_nothing_waits_without_bound(open_a_store, start_valkey, observe, copy_of, monkeypatch, logged):
    monkeypatch.setattr("bestbefore.addon.store.cache.histories.WAITING_OBSERVATIONS", 10)
    monkeypatch.setattr("bestbefore.addon.store.cache.copies.WAITING_BYTES", 50_000)
    server = start_valkey()
    server.kill()
    store = await open_a_store(server.url)
    for i in range(15):
        assert (await store.learn(observe(URL, 1000 + i, i))).applied
        store.put(copy_of(f"{URL}/{i}", bytes(9_000)), bytes(9_000))
    status = store.status()
    assert (status.pending_observations, status.dropped_observations) == (10, 5)
    assert (status.pending_copies, status.dropped_copies) == (4, 11)
    assert {"copies", "histories"} <= status.conditions
    assert len([message for message in logged() if "too many" in message]) == 2


# The server refuses


async def test_a_full_store_keeps_histories_and_refuses_copies(start_valkey, open_a_store, observe, copy_of, logged):
    server = start_valkey("--maxmemory-policy", "noeviction")
    store = await open_a_store(server.url)
    with server.client as client:
        used = client.info("memory")["used_memory"]
        client.config_set("maxmemory", used + 300_000)
        for i in range(20):
            store.put(copy_of(f"{URL}/{i}", bytes(50_000) + b"%d" % i), bytes(50_000) + b"%d" % i)
            await store.flush()
        assert store.status().dropped_copies > 0
        assert "full" in store.status().conditions
        await store.learn(observe(URL, 1000, "a"))
        client.config_set("maxmemory", used + 3_000_000)
        await until(lambda: not store.status().pending_observations)
    full = [message for message in logged() if "full" in message]
    # Once; again only if the server has released some memory meanwhile, as a busy one does late.
    assert set(full) == {"the store is full (it has reached its maxmemory): copies are not kept, histories are"}
    assert len(full) < 5
    server.kill()


async def test_our_bytes_on_a_users_server_are_bounded(open_a_store, valkey, observe, copy_of, logged):
    store = await open_a_store(valkey.url, store_max=200_000)
    for i in range(10):
        store.put(copy_of(f"{URL}/{i}", bytes(50_000) + b"%d" % i), bytes(50_000) + b"%d" % i)
        await store.flush()
    await store.learn(observe(URL, 1000, "a"))
    assert await store.flush()
    assert 4 <= store.status().dropped_copies <= 7
    assert any("more than 200000 bytes" in message for message in logged())


async def test_a_purge_of_a_store_that_refuses_writes_is_an_error(open_a_store, valkey, copy_of):
    store = await open_a_store(valkey.url)
    store.put(copy_of(URL), b"hello")
    await store.flush()
    with valkey.client as client:
        client.execute_command("ACL", "SETUSER", "default", "-@write")
        try:
            for remove in (store.purge, store.forget):
                with pytest.raises(UnwritableError, match="no permissions"):
                    await asyncio.wait_for(remove(URL), PATIENCE_S)
        finally:
            client.execute_command("ACL", "SETUSER", "default", "+@all")
    assert await store.flush()
    assert (await store.copies(URL)).copies == ()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="fills a disk by a limit set on another process")
async def test_a_full_disk_is_said_once_and_what_was_learnt_waits(
    start_valkey, open_a_store, observe, logged, monkeypatch
):
    monkeypatch.setattr(write_behind, "SETTLED_S", 0.0)
    server = start_valkey("--appendonly", "yes", "--appendfsync", "everysec")
    store = await open_a_store(server.url)
    limit = resource.RLIMIT_FSIZE
    unlimited = resource.prlimit(server.process.pid, limit)
    resource.prlimit(server.process.pid, limit, (2_000, unlimited[1]))
    for i in range(200):
        await store.learn(observe(f"{URL}/{i}", 1000, "a"))
        await store.flush()
        if "unwritable" in store.status().conditions:
            break
    assert "unwritable" in store.status().conditions
    learnt = await store.learn(observe(URL, 1000, "a"))
    assert await store.record(URL) == learnt.record
    resource.prlimit(server.process.pid, limit, unlimited)
    await until(lambda: not store.status().pending_observations)
    assert await store.record(URL) == learnt.record
    assert len([message for message in logged() if "disk" in message]) == 1
    assert "the store accepts writes again" in logged()
    server.kill()


async def test_a_flush_ends_although_more_comes_all_the_time(store, copy_of, observe, monkeypatch):
    at_s = time.time()
    written, rounds = store._write_behind._write_round, 0

    async def write_round():
        nonlocal rounds
        rounds += 1
        assert rounds < 50
        done = await written()
        await store.learn(observe(URL, at_s + rounds, str(rounds)))
        for url in (URL, f"{URL}/{rounds}"):
            store.put(copy_of(url, b"x", at_s + rounds), b"x")
            store.drop(f"{url}/gone")
            store.requested(url)
            store.planning.want(url, "")
        return done

    await store.learn(observe(URL, at_s, "0"))
    store.put(copy_of(URL, b"0", at_s), b"0")
    store.drop(f"{URL}/dropped")
    monkeypatch.setattr(store._write_behind, "_write_round", write_round)
    assert await store.flush()
    monkeypatch.undo()
    assert not store._tombstones.waits(f"{URL}/dropped")
