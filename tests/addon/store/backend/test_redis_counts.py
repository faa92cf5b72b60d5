"""Sets that list what is counted are found again when they were lost."""

import random
import time

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.backend.redis_counts import RedisCounts
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.cache.faults import Faults


@pytest.fixture
async def counts(valkey):
    connection = Connection(valkey.url)
    await connection.open()
    commands = RepairingCommands(connection, Faults(time.monotonic))
    yield RedisCounts(commands, RealClock(), forget_after_s=1e6)
    await connection.close()


async def test_the_domains_are_found_again_by_the_names_of_the_keys(counts, valkey):
    await counts.tally({"http://a.example.org/": 1, "http://example.com/": 2})
    with valkey.client as client:
        client.set("bb1:domains", "rubbish")
        client.set("bb1:{theirs.org}:other:x", "no kind of ours")
        client.hset("bb1:{example.net#05}:updates:a.example.net", "1", "2")
        assert await counts.top(5) == [("http://example.com/", 2), ("http://a.example.org/", 1)]
        assert client.smembers("bb1:domains") == {b"example.org", b"example.com", b"example.net"}


async def test_the_hosts_are_found_again_by_the_names_of_their_counts(counts, valkey):
    with valkey.client as client:
        client.set("bb1:{example.org#05}:hosts", "rubbish")
        for name in ("updates:a.example.org", "starts:b.example.org", "record:http://c.example.org/"):
            client.hset(f"bb1:{{example.org#05}}:{name}", "1", "2")
        assert await counts.counts(lambda host: True, "example.org") == GroupCounts({1: 2}, {1: 2})
        assert client.smembers("bb1:{example.org#05}:hosts") == {b"a.example.org", b"b.example.org"}


async def test_what_is_no_name_or_count_is_left_out(counts, valkey):
    await counts.tally({"http://example.com/": 2})
    with valkey.client as client:
        client.sadd("bb1:domains", b"\xff")
        client.zadd("bb1:{example.com}:requests", {b"\xff": 3, "http://b/": float("inf")})
        client.sadd("bb1:{example.com#75}:hosts", "example.com", b"\xff")
        client.hset("bb1:{example.com#75}:updates:example.com", mapping={"5": "7", "x": "y", b"\xff": "1"})
        assert await counts.top(5) == [("http://example.com/", 2), ("http://b/", 0)]
        assert (await counts.counts(lambda host: True, "example.com")).updates == {5: 7}
        assert [part async for part in counts.requested()] == [["http://example.com/", "http://b/"]]


async def test_of_objects_that_are_requested_as_often_the_last_by_name_come_first_however_many_are_asked_for(counts):
    await counts.tally({"http://b.example.com/": 2, "http://a.example.com/": 2, "http://c.example.org/": 3})
    assert await counts.top(3) == [
        ("http://c.example.org/", 3), ("http://b.example.com/", 2), ("http://a.example.com/", 2)
    ]  # fmt: skip
    assert await counts.top(2) == [("http://c.example.org/", 3), ("http://b.example.com/", 2)]
    assert await counts.top(1) == [("http://c.example.org/", 3)]


async def test_the_most_requested_are_found_among_domains_of_any_size(counts):
    """As if all were sorted."""
    rng = random.Random(7)
    asked = {
        f"http://{rng.choice('ab')}.example{domain}.org/{i}": rng.choice((1, 1, 2, 9, rng.randrange(1, 500)))
        for domain in range(12)
        for i in range(rng.choice((1, 3, 8, 9, 40)))
    }
    await counts.tally(asked)
    ordered = sorted(asked.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
    for n in (1, 2, 7, 8, 9, 20, 60, len(asked), 1000):
        assert await counts.top(n) == ordered[:n]
