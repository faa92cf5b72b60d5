"""Records on a server: their lifetimes, what cannot be read, and what a scan finds."""

import pytest

from bestbefore.addon.clock import FastClock, RealClock
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import Commit, Versioned
from bestbefore.addon.store.backend.redis_records import PROVISIONAL_S, RedisRecords
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.cache.faults import Faults

URL = "http://www.example.org/a"
RECORD_KEY = keys.of_record(URL)[0]


@pytest.fixture
def clock():
    return RealClock()


@pytest.fixture
async def backend(valkey, clock):
    connection, faults = Connection(valkey.url), Faults(clock.monotonic)
    await connection.open()
    yield RedisRecords(RepairingCommands(connection, faults), clock, faults, forget_after_s=1e6)
    await connection.close()


@pytest.fixture
def client(valkey):
    with valkey.client as made:
        yield made


async def commit(backend, expected=b"", **known):
    record = Record(URL, 100.0, 200.0, **known)
    (version,) = await backend.commit([Commit(URL, expected, record, {})])
    return version


async def test_a_record_lives_a_week_until_the_second_contact_and_then_without_end(backend, client):
    version = await commit(backend)
    assert PROVISIONAL_S - 5 < client.ttl(RECORD_KEY) <= PROVISIONAL_S
    await commit(backend, version, contacts=2)
    assert client.ttl(RECORD_KEY) == -1


@pytest.mark.parametrize("clock", [FastClock(1e9, 1000.0)])
async def test_under_a_fast_clock_lifetimes_are_as_much_shorter(backend, client):
    await commit(backend)
    assert PROVISIONAL_S - 5_000 < client.pttl(RECORD_KEY) <= PROVISIONAL_S  # ms


async def test_a_record_that_cannot_be_read_counts_as_none_and_is_replaced(backend, client, logged):
    client.hset(RECORD_KEY, mapping={"v": "7", "b": b"rubbish", "t": "1.0"})
    assert await backend.records([URL]) == [Versioned(b"7", None)]
    await commit(backend, b"7")
    assert (await backend.records([URL]))[0].record == Record(URL, 100.0, 200.0)
    assert any("a stored Record cannot be read" in message for message in logged())


async def test_a_scan_finds_more_than_one_part_of_them(backend):
    urls = [f"http://h{i % 7}.example{i % 5}.org/{i}" for i in range(1_300)]
    await backend.commit([Commit(url, b"", Record(url, 1.0, float(i)), {}) for i, url in enumerate(urls)])
    found = [item async for part in backend.recorded() for item in part]
    assert sorted(found) == sorted((url, float(i)) for i, url in enumerate(urls))
