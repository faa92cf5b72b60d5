"""What only a server has: lifetimes, and what it cannot read."""

import time

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend import redis as redis_backend
from bestbefore.addon.store.backend.bodies import FILE_FROM_BYTES, BodyFiles
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import (
    Commit,
    GroupCounts,
    KeptCopy,
    Put,
    StoreInputError,
    Tombstone,
)
from bestbefore.addon.store.backend.keys import variant_of
from bestbefore.addon.store.backend.redis import RedisBackend
from bestbefore.addon.store.backend.redis_counts import REQUESTS_KEPT
from bestbefore.policies.models.member_rates import MemberRates

URL = "http://www.example.org/a"
HOST = "www.example.org"
RECORD_KEY, *COUNT_KEYS = keys.of_record(URL, HOST)
COPIES_KEY, BODIES_KEY = (f"bb1:{kind}:{{{URL}}}" for kind in ("copies", "bodies"))
DAY_S = 86_400.0


@pytest.fixture
async def connect(valkey):
    backends = []

    async def connect_one(url=valkey.url, clock=None):
        backend = RedisBackend(
            Connection(url),
                clock or RealClock(),
            clock_mark="real",
            forget_after_s=180 * DAY_S,
        )
        backends.append(backend)
        await backend.connect(lambda tombstone: None, lambda error: None)
        return backend

    yield connect_one
    for backend in backends:
        await backend.close()


@pytest.fixture
async def backend(connect):
    return await connect()


@pytest.fixture
def client(valkey):
    with valkey.client as made:
        yield made


async def commit(backend, expected=b"", **known):
    record = Record(URL, 100.0, 200.0, **known)
    (version,) = await backend.commit([Commit(URL, expected, record, {})])
    return version


async def test_a_copy_lives_as_long_as_the_variant_that_lives_longest(backend, client, copy_of):
    for ttl_s in (100.0, 50.0):
        await backend.put([Put(copy_of(URL, partition=str(ttl_s)), ttl_s, b"hello")])
    assert [95 < client.ttl(key) <= 100 for key in (COPIES_KEY, BODIES_KEY)] == [True, True]


async def test_what_has_a_lifetime_is_what_a_volatile_policy_may_evict(backend, client, copy_of):
    version = await commit(backend)
    share = GroupCounts({1: 1}, {1: 1}, MemberRates(1, 9))
    await backend.commit([Commit(URL, version, Record(URL, 1.0, 2.0, contacts=2), {HOST: share})])
    await backend.put([Put(copy_of(URL), 100.0, b"hello")])
    await backend.tally({URL: 1})
    await backend.add_tombstones([Tombstone(time.time(), "http://b.example.org/", exact=True)])
    kept_without_end = {key.decode() for key in client.keys("*") if client.ttl(key) == -1}
    assert kept_without_end == {
        "bb:store",
        "bb1:domains",
        "bb1:tombstones",
        "bb1:last:{bb1:tombstones}",
        RECORD_KEY,
        *COUNT_KEYS,
    }


@pytest.mark.parametrize("unreadable", [b"digest|1.0|rubbish", b"digest|1.0|\x81\xa1", b"digest|1.0|"])
async def test_a_copy_that_cannot_be_read_is_replaced(backend, client, copy_of, unreadable):
    client.hset(COPIES_KEY, variant_of(copy_of(URL)), unreadable)
    copy = copy_of(URL)
    await backend.put([Put(copy, 100.0, b"hello")])
    assert await backend.copies(URL) == [KeptCopy(copy)]


async def test_a_copy_or_body_that_cannot_be_read_is_none(backend, client, copy_of):
    copy = copy_of(URL)
    await backend.put([Put(copy, 100.0, b"hello")])
    client.hset(COPIES_KEY, "another", b"digest|1.0|rubbish")
    client.hset(COPIES_KEY, "third", b"rubbish")
    assert await backend.copies(URL) == [KeptCopy(copy)]
    client.hset(BODIES_KEY, copy.body.digest, b"half")
    assert await backend.body(copy) is None
    client.zadd("bb1:tombstones", {b"rubbish": 1.0})
    assert await backend.tombstones() == []


async def test_a_copy_whose_body_was_evicted_is_let_go_of_at_its_next_validation(backend, client, copy_of):
    copy = copy_of(URL)
    await backend.put([Put(copy, 100.0, b"hello")])
    client.delete(BODIES_KEY)
    assert await backend.body(copy) is None
    await backend.put([Put(copy, 100.0, None)])
    assert await backend.copies(URL) == []


async def test_a_body_that_is_not_what_was_stored_is_removed_and_counted(backend, client, copy_of):
    for size in (5, 300_000):
        content = b"h" * size
        copy = copy_of(URL, content)
        await backend.put([Put(copy, 100.0, content)])
        assert await backend.body(copy) == content
        client.hset(BODIES_KEY, copy.body.digest, b"x" * size)
        assert await backend.body(copy) is None
        assert not client.hexists(BODIES_KEY, copy.body.digest)
        await backend.put([Put(copy, 100.0, content)])
        assert await backend.body(copy) == content
    assert backend.corrupt_entries == {"body": 2}


async def test_of_a_domain_the_requests_of_only_so_many_objects_are_kept(backend, client):
    await backend.tally({f"http://example.org/{i}": 1 + (i > 5) for i in range(REQUESTS_KEPT + 6)})
    assert client.zcard("bb1:{example.org}:requests") == REQUESTS_KEPT
    assert {n for _, n in await backend.top(REQUESTS_KEPT)} == {2}


async def test_our_bytes_are_measured(backend, client, copy_of):
    client.set("theirs", bytes(1_000_000))
    await backend.tidy()
    few = backend.size_bytes
    await backend.put([Put(copy_of(URL, bytes(200_000)), 100.0, bytes(200_000))])
    await backend.tidy()
    assert few < 10_000 < 200_000 < backend.size_bytes < 400_000


async def test_a_server_that_does_not_let_us_is_the_users_mistake(connect, client, valkey):
    client.execute_command("ACL", "SETUSER", "other", "on", ">pw", "+@all", "~theirs:*", "&*")
    with pytest.raises(StoreInputError, match="access is denied"):
        await connect(valkey.url.replace("//", "//other:pw@"))


async def test_after_all_was_flushed_the_marks_and_domains_are_written_again(connect, client):
    backend = await connect()
    await commit(backend)
    client.flushall()
    await backend.connect(lambda tombstone: None, lambda error: None)
    await commit(backend)
    assert client.hgetall("bb:store") == {b"schema": b"3", b"clock": b"real"}
    assert client.smembers("bb1:domains") == {b"example.org"}


async def test_the_size_is_that_of_all_that_is_ours_after_each_tidying(backend, valkey, monkeypatch):
    assert backend.size_bytes is None, "not measured yet"
    with valkey.client as client:
        for n in range(1200):  # more than one part of a scan
            client.set(f"bb1:x:{n}", b"x" * 1000)
        client.set("another's", b"x" * 1_000_000)
        await backend.tidy()
        client.delete(keys.SWEEP)  # the size is written to it
        mine = sum(client.memory_usage(key) for key in client.scan_iter("bb1:*"))
        assert backend.size_bytes == mine > 1_200_000
        monkeypatch.setattr(redis_backend, "MEASURED_ALL", 500)
        client.config_resetstat()
        await backend.tidy()
        assert backend.size_bytes == pytest.approx(mine, rel=0.02)
        calls = client.info("commandstats")["cmdstat_memory|usage"]["calls"]
        assert calls <= 500 + 700 / redis_backend.MEASURED_EVERY + 1
        client.delete(*client.scan_iter("bb1:x:*"))
    await backend.tidy()
    assert 0 <= backend.size_bytes < 10_000


async def test_the_size_of_a_server_of_our_own_is_its_memory(valkey, tmp_path):
    backend = RedisBackend(
        Connection(valkey.url), RealClock(), clock_mark="real", forget_after_s=180 * DAY_S,
        files=BodyFiles(tmp_path),
    )
    await backend.connect(lambda tombstone: None, lambda error: None)
    try:
        sizes = []
        for size in (1, 3_000_000):
            with valkey.client as client:
                client.set("something", b"x" * size)
            await backend.tidy()
            sizes.append(backend.size_bytes)
        assert 0 < sizes[0] < sizes[1] - 2_500_000
    finally:
        await backend.close()


async def test_the_file_of_a_removed_copy_goes_with_it(valkey, tmp_path, copy_of):
    files = BodyFiles(tmp_path)
    backend = RedisBackend(
        Connection(valkey.url), RealClock(), clock_mark="real", forget_after_s=180 * DAY_S, files=files
    )
    await backend.connect(lambda tombstone: None, lambda error: None)
    try:
        for n, url in enumerate((URL, URL + "/invalidated", URL + "/other")):
            content = bytes([n]) * (FILE_FROM_BYTES + 1)
            copy = copy_of(url, content)
            await backend.put([Put(copy, 60.0, content)])
        assert await backend.remove([URL], Tombstone(2e9, URL, exact=True)) == 1
        await backend.add_tombstones([Tombstone(2e9, URL + "/invalidated", exact=True)])
        assert [path.name for path in files.list()] == [copy.body.digest]
        await backend.use([copy.body])
    finally:
        await backend.close()


@pytest.mark.parametrize(("number", "left"), [(1, 1), (0, 2)])
async def test_the_file_of_a_replaced_part_goes_at_once_that_of_a_copy_later(valkey, tmp_path, copy_of, number, left):
    files = BodyFiles(tmp_path)
    backend = RedisBackend(
        Connection(valkey.url), RealClock(), clock_mark="real", forget_after_s=180 * DAY_S, files=files
    )
    await backend.connect(lambda tombstone: None, lambda error: None)
    try:
        for content in (b"1" * (FILE_FROM_BYTES + 1), b"2" * (FILE_FROM_BYTES + 1)):
            copy = copy_of(URL, content, part_number=number)
            await backend.put([Put(copy, 60.0, content)])
            await backend.put([Put(copy, 60.0, None)])
        assert copy.body.digest in [path.name for path in files.list()]
        assert len(files.list()) == left
    finally:
        await backend.close()


@pytest.mark.parametrize("lost", ["schema", "clock"])
async def test_a_lost_mark_is_written_again(connect, client, lost):
    await connect()
    marks = client.hgetall("bb:store")
    assert set(marks) == {b"schema", b"clock"}
    client.hdel("bb:store", lost)
    await connect()
    assert client.hgetall("bb:store") == marks


async def test_a_new_object_costs_few_commands(backend, client, copy_of):
    copy = copy_of(URL)
    client.config_resetstat()
    await backend.put([Put(copy, 100.0, b"hello")])
    await commit(backend)
    called = {name.removeprefix("cmdstat_"): of["calls"] for name, of in client.info("commandstats").items()}
    assert "type" not in called  # asked for each key by a script that writes before it reads
    assert sum(called.values()) <= 16, called


async def test_the_variant_that_is_left_sets_the_lifetime(backend, client, copy_of):
    for ttl_s in (100.0, 50.0):
        await backend.put([Put(copy_of(URL), ttl_s, b"hello")])
    assert [45 < client.ttl(key) <= 50 for key in (COPIES_KEY, BODIES_KEY)] == [True, True]
