"""A store whose keys were tagged by domain, as schemas 1 and 2 did. (What is read of it then: test_opening_earlier.)"""

import asyncio
from itertools import count

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import observe
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import Commit, UnavailableError
from bestbefore.addon.store.backend.keys import PART_KINDS, earlier, host_of
from bestbefore.addon.store.backend.redis import RedisBackend
from bestbefore.addon.store.backend.redis_records import PROVISIONAL_S
from bestbefore.addon.store.cache.gains import share_of, total

URL, OTHER = "http://www.example.org/a", "http://www.example.org/b"
URLS = [f"http://h{n % 3}.example{n % 2}.org/{n}" for n in range(40)]
ONCE = "http://h0.example0.org/{once}"


def earlier_names(url, host=None):
    """The names of a record and its counts up to schema 2."""
    host = host or host_of(url)
    record, hosts, *counts = (keys.of_domain(keys.domain_of(host), kind) for kind in PART_KINDS)
    return [f"{record}:{url}", hosts, *(f"{name}:{host}" for name in counts)]


def backend_of(server):
    return RedisBackend(Connection(server.url), RealClock(), clock_mark="real", forget_after_s=1e6)


def write_earlier(client, schema="1"):
    client.hset("bb:store", mapping={"schema": schema, "clock": "real"})
    for url in (URL, OTHER):
        for kind in ("copies", "bodies"):
            key = f"bb1:{{example.org}}:{kind}:{url}"
            client.hset(key, "a", f"old {kind}")
            client.pexpire(key, 100_000)


def record_of(url, contacts):
    record = None
    for n in range(contacts):
        record = observe(record, Observation(url, 1e6 + 9e3 * n, "", Fingerprint(body=str(n)))).record
    return record


def committed(record):
    """The first commit of a record."""
    return Commit(record.url, b"", record, {host_of(record.url): share_of(record)})


async def opened(server):
    backend = backend_of(server)
    try:
        await backend.connect(lambda _: None, lambda _: None)
    finally:
        await backend.close()


@pytest.fixture(params=["server", "cluster"])
def server(request):
    """One server, or a node of two."""
    return request.getfixturevalue("cluster")[0] if request.param == "cluster" else request.getfixturevalue("valkey")


@pytest.fixture
async def earlier_records(server, monkeypatch):
    """What schema 2 had of many objects, and of one that was seen once."""
    backend = backend_of(server)
    await backend.connect(lambda _: None, lambda _: None)
    records = [record_of(url, 2 + n % 5) for n, url in enumerate(URLS)] + [record_of(ONCE, 1)]
    assert [share_of(record).starts == {} for record in records] == [False] * 40 + [True]
    with monkeypatch.context() as patched:
        patched.setattr(keys, "of_record", earlier_names)
        await backend.commit([committed(record) for record in records])
        kept = await backend.records([*URLS, ONCE])
    await backend._connection.ask("HSET", "bb:store", "schema", "2")
    await backend.close()
    return kept


async def check(server, earlier_records):
    backend = backend_of(server)
    await backend.connect(lambda _: None, lambda _: None)
    found = await backend.records([*URLS, ONCE])
    assert found == earlier_records
    assert [known.at for known in found] == [known.at for known in earlier_records]
    for domain, hosts in (("example0.org", "h0 h1 h2"), ("example1.org", "h1"), (None, "h2")):
        names = {f"{host}.{other}" for host in hosts.split() for other in ("example0.org", "example1.org")}
        counts = await backend.counts(names.__contains__, domain)
        of_records = [k.record for k in found if host_of(k.record.url) in names]
        assert counts == total(share_of(r) for r in of_records if domain in (None, registrable_domain(host_of(r.url))))
    live_s = await backend._connection.ask("TTL", keys.of_record(ONCE)[0])
    assert PROVISIONAL_S - 60 < live_s <= PROVISIONAL_S
    assert await backend._connection.ask("TTL", keys.of_record(URLS[0])[0]) == -1
    names = [key async for part in backend._connection.scan("bb1:*") for key in part]
    assert [key for key in names if earlier(key)] == []
    assert sorted([url async for part in backend.recorded() for url, _ in part]) == sorted([*URLS, ONCE])
    assert await backend._connection.ask("HGET", "bb:store", "schema") == b"3"
    await backend.close()


async def test_records_keep_version_and_lifetime_and_the_counts_are_theirs(server, earlier_records):
    await opened(server)
    await check(server, earlier_records)


@pytest.mark.slow
@pytest.mark.parametrize("mark", [None, b"\xff"])
async def test_records_are_moved_where_the_mark_was_lost_too(server, earlier_records, mark):
    connection = Connection(server.url)
    await connection.open()
    await connection.ask(*(("DEL", "bb:store") if mark is None else ("HSET", "bb:store", "schema", mark)))
    await connection.close()
    await check(server, earlier_records)


async def test_several_proxies_may_open_an_earlier_store_at_once(server, earlier_records):
    await asyncio.gather(*(opened(server) for _ in range(3)))
    await check(server, earlier_records)


@pytest.mark.slow
async def test_moving_records_may_be_interrupted_anywhere(server, earlier_records, monkeypatch):
    answers = Connection.answers
    for most in count(1):
        left = iter(range(most, 0, -1))

        async def some(self, commands, left=left, **given):
            if next(left) > 1:
                return await answers(self, commands, **given)
            await answers(self, commands[: len(commands) // 2], **given)  # half of it is done, and then we are no more
            raise InterruptedError

        monkeypatch.setattr(Connection, "answers", some)
        try:
            await opened(server)
        except InterruptedError:
            continue
        finally:
            monkeypatch.setattr(Connection, "answers", answers)
        break
    assert most > 4
    await check(server, earlier_records)


async def test_what_was_learnt_since_under_the_new_name_stays(server, earlier_records, monkeypatch):
    backend = backend_of(server)
    await backend.connect(lambda _: None, lambda _: None)
    with monkeypatch.context() as patched:
        patched.setattr(keys, "of_record", earlier_names)
        await backend.commit([committed(record_of(URLS[0], 3))])
    await backend._connection.ask("HSET", "bb:store", "schema", "2")
    await backend.close()
    await check(server, earlier_records)


async def test_a_record_that_cannot_be_read_is_left_behind(valkey):
    with valkey.client as client:
        client.hset("bb:store", mapping={"schema": "2", "clock": "real"})
        client.hset(f"bb1:{{example.org}}:record:{URL}", mapping={"v": "1", "b": b"rubbish", "t": "1"})
        client.set(f"bb1:{{example.org}}:record:{OTHER}", "rubbish")
        await opened(valkey)
        assert client.keys("bb1:*") == []


async def test_copies_keep_content_and_lifetime_under_their_new_names(valkey):
    with valkey.client as client:
        write_earlier(client)
        await opened(valkey)
        assert {key.decode() for key in client.keys("bb1:*")} == {
            f"bb1:{kind}:{{{url}}}" for url in (URL, OTHER) for kind in ("copies", "bodies")
        }
        assert client.hget(f"bb1:copies:{{{URL}}}", "a") == b"old copies"
        assert 0 < client.pttl(f"bb1:bodies:{{{URL}}}") <= 100_000


async def test_what_was_stored_meanwhile_stays(valkey):
    with valkey.client as client:
        write_earlier(client)
        client.hset(f"bb1:copies:{{{URL}}}", "a", "new")
        await opened(valkey)
        assert client.hget(f"bb1:copies:{{{URL}}}", "a") == b"new"
        assert client.keys("bb1:{example.org}:copies:*") == []


async def test_what_was_interrupted_is_done_at_the_next_opening(valkey):
    with valkey.client as client:
        write_earlier(client)
        client.rename(f"bb1:{{example.org}}:bodies:{URL}", f"bb1:bodies:{{{URL}}}")
        await opened(valkey)
        assert len(client.keys("bb1:bodies:*")) == 2


async def test_a_store_of_the_present_schema_is_not_looked_through(valkey):
    with valkey.client as client:
        write_earlier(client, schema="3")
        await opened(valkey)
        assert len(client.keys("bb1:{example.org}:*")) == 4


async def test_a_server_that_refuses_to_write_is_tried_again_later(valkey):
    with valkey.client as client:
        write_earlier(client)
        client.config_set("min-replicas-to-write", 1)
        try:
            with pytest.raises(UnavailableError):
                await opened(valkey)
        finally:
            client.config_set("min-replicas-to-write", 0)
        assert client.hget("bb:store", "schema") == b"1"
