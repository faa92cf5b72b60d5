"""A store that an earlier version has written opens with all that it has learnt, and serves its copies."""

import base64
import json
import time

import pytest
from redis import RedisCluster

from bestbefore.addon.store.backend.interface import Tombstone

URL, OTHER = "http://www.example.org/a", "http://b.example.com/"


def plain(given):
    return base64.b85decode(given["b85"]) if isinstance(given, dict) else given


DUMPS = ["store_1.json", "store_2.json", "store_3.json", "store_4.json"]
"""What version 0.1.0 wrote: 1 before tombstones had numbers, 2 under the names before those that words.md lists, 3 with
copies tagged by object (schema 2), 4 with records in parts of their domains (schema 3)."""


def write(client, dump):
    with client:
        for command in json.loads(dump.read_text()):
            client.execute_command(*map(plain, command))


@pytest.fixture(params=DUMPS)
def earlier(request, valkey, data):
    """A server with what was written before."""
    write(valkey.client, data / request.param)
    return valkey


async def check_histories(store):
    record = await store.record(URL)
    assert (record.contacts, record.unchanged, record.n_updates) == (4, 1, 2)
    assert (record.since_s, record.last_contact_s) == (1_700_000_000.0, 1_700_020_000.0)
    assert (await store.record(OTHER)).contacts == 1
    counts = await store.group("all", lambda host: True)
    assert (dict(counts.updates), dict(counts.starts)) == ({472222: 1, 472226: 1}, {472222: 1})
    assert sorted([record.url async for record in store.records()]) == [OTHER, URL]


async def test_histories_counts_and_copies_are_kept(open_a_store, earlier, observe):
    store = await open_a_store(earlier.url)
    await check_histories(store)
    for url, body in ((URL, b"hello"), (OTHER, b"world")):
        (copy,) = (await store.copies(url)).copies
        assert (copy.head.reason, await store.body(copy)) == ("OK", body)
    assert sorted(await store.top(5)) == [(OTHER, 1), (URL, 1)]
    learnt = await store.learn(observe(URL, time.time() + 1e8, "d"))
    assert learnt.record.contacts == 5
    assert await store.flush()
    await store._sweep.once()
    assert (await store.record(URL)).contacts == 5
    assert dict(store.status().corrupt_entries) == {}


@pytest.mark.parametrize("dump", DUMPS)
async def test_in_a_cluster_histories_and_counts_are_kept(open_a_store, cluster, data, dump):
    write(RedisCluster.from_url(cluster[0].url), data / dump)
    store = await open_a_store(cluster[0].url)
    await check_histories(store)
    assert await store.forget(URL) == 1
    store.regroup()
    counts = await store.group("all", lambda host: True)
    assert (dict(counts.updates), dict(counts.starts)) == ({}, {})


@pytest.mark.parametrize("pattern", [URL, "*.example.org"])
async def test_a_purge_removes_copies_that_an_earlier_version_stored(open_a_store, earlier, pattern):
    store = await open_a_store(earlier.url)
    assert len((await store.copies(URL)).copies) == 1
    assert await store.purge(pattern) == 1
    assert (await store.copies(URL)).copies == ()
    assert len((await store.copies(OTHER)).copies) == 1


@pytest.mark.parametrize("earlier", DUMPS[1:], indirect=True)
async def test_a_copy_survives_the_tombstones_that_its_writer_had_applied(open_a_store, earlier):
    store = await open_a_store(earlier.url)
    last = store._tombstones.applied_number
    for number, removed in ((last, 0), (last + 1, 1)):
        tombstone = Tombstone(time.time(), URL, exact=True, number=number)
        assert await store._link.backend.remove([URL], tombstone) == removed
