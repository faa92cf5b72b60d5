"""What every backend of the store does."""

import hashlib
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.update import Update
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.interface import (
    VARIANTS_KEPT,
    Commit,
    GroupCounts,
    KeptCopy,
    LookUp,
    Put,
    Tombstone,
    Versioned,
)
from bestbefore.addon.store.backend.keys import CopyKey, host_of
from bestbefore.addon.store.counts.copy_counts import CopyCounts, joined
from bestbefore.policies.models.demand import first_request, requested
from bestbefore.policies.models.member_rates import MemberRates
from tests.addon.store.memory_backend import MemoryBackend

URL = "http://www.example.org/a"
HOST = "www.example.org"
NOTHING = GroupCounts({}, {})
ODD_URLS = [
    "http://example.org/{a}|b*c?d[e]&f=%7B",
    "https://[2001:db8::1]:8443/x",
    "http://example.org/}:record:http://example.org/",
    "http://192.0.2.1/",
    "http://localhost/",
    "http://example.org/\u00e9\u4e16",
    "http://a}:record:b/c",
    "object 17",
]


def record(url=URL, last_contact_s=200.0, **known):
    return Record(url, 100.0, last_contact_s, **({"contacts": 2, "counted": True} | known))


def copy(url=URL, body=b"hello", *, stored_s=1000.0, **known):
    head = Head(200, Fields([("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("X-A", "\xe9"), ("x-a", "2")]))
    ref = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
    return Copy(url, head, ref, stored_s, stored_s, stored_s, stored_s, **known)


def put(body=b"hello", ttl_s=1000.0, **known):
    return Put(copy(body=body, **known), ttl_s, body)


def upto(until_s):
    """Of everything that was stored up to a moment, by the clock of one process."""
    return Tombstone(until_s, "*", exact=False)


def of_all(host):
    return True


async def all_of(parts):
    return sorted([item async for part in parts for item in part])


# Histories


async def test_of_an_unknown_object_there_is_nothing(backend):
    assert await backend.records([URL, "http://b/"]) == [Versioned(), Versioned()]
    assert await backend.copies(URL) == []
    assert await backend.body(copy()) is None
    assert await backend.counts(of_all, None) == NOTHING
    assert await backend.top(5) == []
    assert await backend.tombstones() == []
    assert await all_of(backend.recorded()) == await all_of(backend.copied()) == []


async def test_a_look_up_finds_what_single_reads_find(backend):
    assert await backend.look_up(URL, copies=True) == LookUp(Versioned(), [])
    stored, other = copy(), copy(f"{URL}?b=2&a=1")
    fields = other.head.fields.added(("No-Vary-Search", "key-order"))
    other = replace(other, head=replace(other.head, fields=fields))
    await backend.commit([Commit(URL, b"", record(), {})])
    await backend.put([Put(stored, 1000.0, b"hello"), Put(other, 1000.0, b"hello")])
    for url in (URL, other.url, f"{URL}?a=1&b=2", f"{URL}?a=1"):
        (known,), copies = await backend.records([url]), await backend.copies(url)
        another = await backend.equivalent(url)
        assert await backend.look_up(url, copies=True) == LookUp(known, copies, another)
        assert await backend.look_up(url, copies=False) == LookUp(known, None, another)


async def test_of_no_objects_there_is_nothing(backend):
    assert await backend.records([]) == await backend.commit([]) == []
    await backend.put([])
    assert await backend.remove([], upto(0.0)) == 0


async def test_a_record_comes_back_as_it_was_written(backend):
    written = record(updates=(Update(110.0, 120.5), Update(150.25, 150.25)), folded=((3, 4),), last_modified_s=9.0)
    (version,) = await backend.commit([Commit(URL, b"", written, {})])
    assert await backend.records([URL]) == [Versioned(version, written)]
    assert await all_of(backend.recorded()) == [(URL, 200.0)]


async def test_a_commit_from_another_version_writes_nothing_and_answers_what_is_there(backend):
    gain = GroupCounts({10: 1}, {5: 1})
    (version,) = await backend.commit([Commit(URL, b"", record(), {HOST: gain})])
    stale = Commit(URL, b"", record(last_contact_s=900.0), {HOST: gain})
    assert await backend.commit([stale]) == [Versioned(version, record())]
    assert await backend.counts(of_all, None) == gain


async def test_versions_never_come_again_even_when_the_record_does(backend):
    (first,) = await backend.commit([Commit(URL, b"", record(), {})])
    await backend.commit([Commit(URL, first, None, {})])
    (again,) = await backend.commit([Commit(URL, b"", record(), {})])
    (next_one,) = await backend.commit([Commit(URL, again, record(), {})])
    assert len({first, again, next_one}) == 3


async def test_a_removed_record_leaves_nothing(backend):
    gain = GroupCounts({10: 2, 11: 1}, {5: 1})
    (version,) = await backend.commit([Commit(URL, b"", record(), {HOST: gain})])
    (answer,) = await backend.commit([Commit(URL, version, None, {HOST: GroupCounts({10: -2, 11: -1}, {5: -1})})])
    assert answer == b""
    assert await backend.records([URL]) == [Versioned()]
    assert await backend.counts(of_all, None) == NOTHING


async def test_an_object_takes_its_counts_along_to_another_label(backend):
    share = GroupCounts({10: 2}, {5: 1}, MemberRates(1, 9_000_000))
    loss = GroupCounts({10: -2}, {5: -1}, MemberRates(-1, -9_000_000))
    label = '"a b}{@"@http://www.example.org:8080'
    (version,) = await backend.commit([Commit(URL, b"", record(), {HOST: share})])
    (version,) = await backend.commit([Commit(URL, version, record(), {HOST: loss, label: share})])
    assert await backend.counts(HOST.__eq__, None) == NOTHING
    assert await backend.counts(label.__eq__, "example.org") == await backend.counts(of_all, None) == share
    await backend.commit([Commit(URL, version, None, {label: loss})])
    assert await backend.counts(of_all, None) == NOTHING


async def test_the_rates_of_members_add_up_and_change_with_each_contact(backend):
    one, two = "http://a.example.org/x", "http://b.example.org/y"
    rates = [GroupCounts({}, {}, MemberRates(1, 11_000_000)), GroupCounts({}, {}, MemberRates(1, 12_000_000))]
    version, _ = await backend.commit(
        [Commit(url, b"", record(url), {host_of(url): gain}) for url, gain in zip((one, two), rates, strict=True)]
    )
    quiet = GroupCounts({}, {}, MemberRates(0, 500_000))
    await backend.commit([Commit(one, version, record(one), {host_of(one): quiet})])
    assert (await backend.counts(of_all, None)).rates == MemberRates(2, 23_500_000)
    assert (await backend.counts("a.example.org".__eq__, None)).rates == MemberRates(1, 11_500_000)


async def test_counts_add_up_for_each_host(backend):
    one, two = "http://a.example.org/x", "http://a.example.org/y"
    other, elsewhere = "http://b.example.org/", "http://example.com/"
    await backend.commit(
        [
            Commit(one, b"", record(one), {host_of(one): GroupCounts({10: 2}, {5: 1})}),
            Commit(two, b"", record(two), {host_of(two): GroupCounts({10: 1, 12: 1}, {5: 1})}),
            Commit(other, b"", record(other), {host_of(other): GroupCounts({}, {7: 1})}),
            Commit(elsewhere, b"", record(elsewhere), {host_of(elsewhere): GroupCounts({1: 1}, {})}),
        ]
    )
    a_alone = GroupCounts({10: 3, 12: 1}, {5: 2})
    assert await backend.counts("a.example.org".__eq__, None) == a_alone
    assert await backend.counts("a.example.org".__eq__, "example.com") == NOTHING
    assert await backend.counts(of_all, "example.org") == replace(a_alone, starts={5: 2, 7: 1})
    assert await backend.counts(of_all, None) == GroupCounts({10: 3, 12: 1, 1: 1}, {5: 2, 7: 1})


# Demand


async def test_the_demand_for_a_copy_is_the_sum_of_what_all_have_counted(backend):
    key, other, now_s = CopyKey(URL), CopyKey(URL, partition="p"), time.time()
    one = CopyCounts(requested(first_request(now_s - 5000.0), now_s - 4000.0), 7.0, 5)
    two, late = CopyCounts(first_request(now_s - 1000.0), 7.0, 20), CopyCounts(first_request(now_s - 9000.0))
    assert await backend.demand(key) is None
    await backend.add_demand({key: one, other: two})
    await backend.add_demand({key: two})
    await backend.add_demand({key: late})
    found, expected = await backend.demand(key), joined(joined(one, two), late)
    assert found.demand == pytest.approx(expected.demand)
    assert found[1:] == expected[1:] == (7.0, 25)
    assert await backend.demand(other) == two
    await backend.forget_demand("http://b/".__eq__)
    assert await backend.demand(other) == two
    await backend.forget_demand(URL.__eq__)
    assert [await backend.demand(k) for k in (key, other)] == [None, None]


async def test_a_demand_of_a_clock_that_was_ahead_does_not_count(backend):
    key, now_s = CopyKey(URL), time.time()
    await backend.add_demand({key: CopyCounts(first_request(now_s + 5000.0))})
    await backend.add_demand({key: CopyCounts(first_request(now_s))})
    assert await backend.demand(key) == CopyCounts(first_request(now_s))


async def test_the_demand_for_only_so_many_copies_of_an_object_is_kept(backend):
    now_s = time.time()
    asked = [CopyKey(URL, partition=str(n)) for n in range(VARIANTS_KEPT + 2)]
    await backend.add_demand({key: CopyCounts(first_request(now_s - 100.0 + n)) for n, key in enumerate(asked)})
    kept = [await backend.demand(key) is not None for key in asked]
    assert kept == [False] * 2 + [True] * VARIANTS_KEPT


async def test_the_sums_of_a_group_are_those_that_all_have_added(backend):
    await backend.add_stale_sums({"a 0.05": {7: [1, -2, 3, 0, 5]}, "b 0.05": {7: [1, 0, 0, 0, 0]}})
    await backend.add_stale_sums({"a 0.05": {8: [1, 1, 1, 1, 1], 7: [1, -2, 3, 0, 5]}})
    assert await backend.stale_sums("a 0.05") == {7: [2, -4, 6, 0, 10], 8: [1, 1, 1, 1, 1]}
    assert await backend.stale_sums("c 0.05") == {}


# Copies


async def test_a_copy_comes_back_as_it_was_put(backend):
    written = put(selecting=(("accept", "a"), ("dnt", None)), expiry_s=5000.0, reason="ttl", personal="x")
    await backend.put([written])
    assert await backend.copies(URL) == [KeptCopy(written.copy)]
    assert await backend.body(written.copy) == b"hello"
    assert await all_of(backend.copied()) == [URL]


async def test_a_copy_replaces_the_same_variant_alone(backend):
    await backend.put([put(selecting=(("accept", "a"),)), put(b"x", partition="p"), put(b"y", personal="me")])
    await backend.put([put(b"new", selecting=(("accept", "a"),), stored_s=2000.0)])
    found = {(c.selecting, c.partition, c.personal): await backend.body(c) for c, _ in await backend.copies(URL)}
    assert found == {((("accept", "a"),), "", ""): b"new", ((), "p", ""): b"x", ((), "", "me"): b"y"}


async def test_a_copy_stays_if_it_was_received_later_than_what_would_replace_it(backend):
    """Validation counts: of two proxies with the same content, the one that asked last knows more."""
    kept = replace(copy(), response_time_s=3000.0)
    await backend.put([Put(kept, 1000.0, b"hello")])
    overtaken = replace(copy(body=b"older", stored_s=2000.0), current_s=1000.0)
    await backend.put([Put(overtaken, 1000.0, b"older"), Put(replace(kept, response_time_s=2999.0), 1000.0, None)])
    assert await backend.copies(URL) == [KeptCopy(kept)]
    assert await backend.body(kept) == b"hello"
    assert await backend.body(overtaken) is None
    evaluated = kept.with_verdict(9000.0, "ttl", "rule")
    await backend.put([Put(evaluated, 1000.0, None), Put(replace(overtaken, partition="p"), 1000.0, b"older")])
    found = {c.partition: c for c, _ in await backend.copies(URL)}
    assert found == {"": evaluated, "p": replace(overtaken, partition="p")}


async def test_a_copy_from_the_future_is_replaced(backend):
    await backend.put([put(stored_s=time.time() + 3600.0)])
    await backend.put([put(b"new")])
    assert [await backend.body(c) for c, _ in await backend.copies(URL)] == [b"new"]


async def test_two_variants_may_share_a_body(backend):
    await backend.put([put(partition="p"), put()])
    await backend.put([put(b"new", partition="p")])
    assert await backend.body(copy()) == b"hello"


async def test_a_body_leaves_with_the_last_variant_that_has_it(backend):
    await backend.put([put()])
    await backend.put([put(b"new")])
    assert await backend.body(copy()) is None


async def test_what_is_known_of_a_copy_changes_without_its_body(backend):
    await backend.put([put()])
    validated = replace(copy(), response_time_s=3000.0, expiry_s=9000.0)
    await backend.put([Put(validated, 1000.0, None)])
    assert await backend.copies(URL) == [KeptCopy(validated)]
    assert await backend.body(validated) == b"hello"


async def test_a_copy_whose_body_is_not_there_is_not_kept(backend):
    await backend.put([Put(copy(), 1000.0, None)])
    assert await backend.copies(URL) == []


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, 3_000_000])
async def test_a_body_of_any_size_comes_back(backend, size):
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    await backend.put([put(body)])
    found = await backend.body(copy(body=body))
    assert (found.read_bytes() if isinstance(found, Path) else found) == body


async def test_of_too_many_variants_the_one_stored_first_leaves(backend):
    await backend.put([put(partition=str(i), stored_s=1000.0 + i) for i in range(VARIANTS_KEPT + 2)])
    kept = {c.partition for c, _ in await backend.copies(URL)}
    assert kept == {str(i) for i in range(2, VARIANTS_KEPT + 2)}


async def test_a_copy_put_to_live_for_no_time_is_gone(backend):
    await backend.put([put(ttl_s=0.001)])
    deadline = time.monotonic() + 60
    while await backend.copies(URL) and time.monotonic() < deadline:
        pass
    assert await backend.copies(URL) == []


async def test_copies_up_to_a_moment_are_removed(backend):
    await backend.put([put(stored_s=1000.0), put(b"later", partition="p", stored_s=2000.0)])
    assert await backend.remove([URL, "http://other/"], upto(1000.0)) == 1
    assert [c.partition for c, _ in await backend.copies(URL)] == ["p"]
    assert await backend.body(copy(body=b"later", partition="p")) == b"later"
    assert await backend.remove([URL], upto(999.0)) == 0


async def test_of_numbered_tombstones_only_those_that_the_writer_had_not_applied_remove(backend):
    if isinstance(backend, MemoryBackend):
        return  # it compares times
    await backend.put([put()], 7)
    assert await backend.remove([URL], replace(upto(2000.0), number=7)) == 0
    assert await backend.remove([URL], replace(upto(500.0), number=8)) == 1
    assert await backend.copies(URL) == []


# Tombstones


async def test_a_tombstone_of_one_url_removes_its_copies_and_keeps_older_ones_out(backend):
    now_s = time.time()
    await backend.put([put(stored_s=now_s - 10)])
    buried = Tombstone(now_s, URL, exact=True)
    await backend.add_tombstones([buried])
    assert await backend.copies(URL) == []
    await backend.put([put(stored_s=now_s - 5)])
    assert await backend.copies(URL) == []
    await backend.put([put(stored_s=now_s)])
    assert len(await backend.copies(URL)) == 1
    assert await backend.tombstones() == [buried]


async def test_an_earlier_tombstone_does_not_weaken_a_later_one(backend):
    now_s = time.time()
    await backend.add_tombstones([Tombstone(now_s, URL, exact=True)])
    await backend.add_tombstones([Tombstone(now_s - 100, URL, exact=True)])
    await backend.put([put(stored_s=now_s - 50)])
    assert await backend.copies(URL) == []


async def test_tombstones_are_kept_for_a_day_in_order(backend):
    now_s = time.time()
    old, pattern = Tombstone(now_s - 90_000, "*", exact=False), Tombstone(now_s - 5, "*.org", exact=False)
    await backend.add_tombstones([old, pattern])
    await backend.add_tombstones([Tombstone(now_s - 50, URL, exact=True, histories=True)])
    assert await backend.tombstones() == [Tombstone(now_s - 50, URL, exact=True, histories=True), pattern]


# Counts


async def test_requests_add_up(backend):
    other = "http://b.example.com/"
    await backend.tally({URL: 2, other: 5})
    await backend.tally({URL: 4})
    assert await backend.top(5) == [(URL, 6), (other, 5)]
    assert await backend.top(1) == [(URL, 6)]
    assert await all_of(backend.requested()) == [other, URL]
    await backend.uncount([URL, "http://never/"])
    assert await backend.top(5) == [(other, 5)]


# All


@pytest.mark.parametrize("url", ODD_URLS)
async def test_any_name_of_an_object_is_kept_apart(backend, url):
    other = url + "/"
    (version,) = await backend.commit([Commit(url, b"", record(url), {host_of(url): GroupCounts({1: 1}, {1: 1})})])
    await backend.commit([Commit(other, b"", record(other), {})])
    await backend.put([put(url=url), put(b"2", url=other)])
    await backend.tally({url: 2, other: 1})
    assert await backend.records([url]) == [Versioned(version, record(url))]
    assert [c.url for c, _ in await backend.copies(url)] == [url]
    assert await all_of(backend.recorded()) == [(url, 200.0), (other, 200.0)]
    assert await all_of(backend.copied()) == [url, other]
    assert await backend.top(2) == [(url, 2), (other, 1)]
    assert await backend.top(2, other) == [(other, 1)]
    assert await backend.top(2, other[:4].upper()) == [(url, 2), (other, 1)]
    assert await backend.counts(of_all, None) == GroupCounts({1: 1}, {1: 1})
    await backend.tidy()
    assert len(await backend.copies(other)) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_a_random_life_leaves_the_same_as_in_a_plain_model(backend, seed):
    draw = random.Random(seed)
    start_s = time.time() - 1000
    copies, buried = {}, {}
    for i in range(120):
        now_s, url = start_s + i, f"http://h{draw.randrange(3)}.example.org/"
        match draw.choice(["put", "put", "put", "bury", "remove"]):
            case "put":
                made = put(b"%d" % i, url=url, partition=draw.choice("ab"), stored_s=now_s - draw.choice([0, 0, 20]))
                await backend.put([made])
                before_s = copies[name].copy.stored_s if (name := (url, made.copy.partition)) in copies else 0.0
                if made.copy.stored_s >= max(before_s, buried.get(url, 0)):
                    copies[name] = made
            case "bury":
                await backend.add_tombstones([Tombstone(now_s, url, exact=True)])
                buried[url] = now_s
                copies = {name: made for name, made in copies.items() if name[0] != url}
            case "remove":
                until_s = now_s - draw.choice([0, 15])
                await backend.remove([url], upto(until_s))
                copies = {n: made for n, made in copies.items() if n[0] != url or made.copy.stored_s > until_s}
        found = {(c.url, c.partition): await backend.body(c) for c, _ in await backend.copies(url)}
        assert found == {name: made.body for name, made in copies.items() if name[0] == url}


async def test_copies_and_records_of_one_domain_lie_on_all_nodes_of_a_cluster(in_cluster, cluster):
    urls = [f"http://www.example.org/{n}" for n in range(64)]
    await in_cluster.put([put(url=url) for url in urls])
    gain = GroupCounts({10: 2, 11: 1}, {5: 1})
    versions = await in_cluster.commit([Commit(url, b"", record(url), {host_of(url): gain}) for url in urls])
    for pattern in ("bb1:copies:*", "bb1:{example.org#*}:record:*"):
        found = []
        for server in cluster:
            with server.client as client:
                found.append(len(client.keys(pattern)))
        assert sum(found) == 64
        assert min(found) > 16
    assert await in_cluster.counts(of_all, "example.org") == GroupCounts({10: 128, 11: 64}, {5: 64})
    loss = GroupCounts({10: -2, 11: -1}, {5: -1})
    lost = {host_of(urls[0]): loss}
    await in_cluster.commit([Commit(url, v, None, lost) for url, v in zip(urls[1:], versions[1:], strict=True)])
    assert await in_cluster.counts(of_all, "example.org") == gain


async def test_in_a_cluster_copies_of_an_earlier_version_are_removed(in_cluster):
    """They cannot be renamed: the keys would have to move to other nodes."""
    await in_cluster._connection.ask("HSET", f"bb1:{{example.org}}:copies:{URL}", "a", "1|2|3")
    await in_cluster._connection.ask("HSET", "bb:store", "schema", "1")
    await in_cluster.connect(lambda _: None, lambda _: None)
    assert [part async for part in in_cluster._connection.scan("bb1:*copies:*")] == [[]]
