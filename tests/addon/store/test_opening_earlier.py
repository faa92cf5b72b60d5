"""A store that an earlier version has written opens with all that it has learnt, and serves its copies."""

import base64
import json
import time

import pytest

URL, OTHER = "http://www.example.org/a", "http://b.example.com/"


def plain(given):
    return base64.b85decode(given["b85"]) if isinstance(given, dict) else given


@pytest.fixture
def earlier(valkey, data):
    """A server with what version 0.1.0 wrote before tombstones had numbers."""
    with valkey.client as client:
        for command in json.loads((data / "store_1.json").read_text()):
            client.execute_command(*map(plain, command))
    return valkey


async def test_histories_counts_and_copies_are_kept(open_a_store, earlier, observe):
    store = await open_a_store(earlier.url)
    record = await store.record(URL)
    assert (record.contacts, record.unchanged, record.n_updates) == (4, 1, 2)
    assert (record.since_s, record.last_contact_s) == (1_700_000_000.0, 1_700_020_000.0)
    assert (await store.record(OTHER)).contacts == 1
    counts = await store.group("all", lambda host: True)
    assert (sum(counts.updates.values()), sum(counts.starts.values())) == (2, 1)
    for url, body in ((URL, b"hello"), (OTHER, b"world")):
        (copy,) = (await store.copies(url)).copies
        assert (copy.head.reason, await store.body(copy)) == ("OK", body)
    assert await store.top(5) == [(OTHER, 1), (URL, 1)]
    learnt = await store.learn(observe(URL, time.time() + 1e8, "d"))
    assert learnt.record.contacts == 5
    assert await store.flush()
    await store._sweep.once()
    assert (await store.record(URL)).contacts == 5
    assert dict(store.status().damaged) == {}


@pytest.mark.parametrize("pattern", [URL, "*.example.org"])
async def test_a_purge_removes_copies_that_an_earlier_version_stored(open_a_store, earlier, pattern):
    store = await open_a_store(earlier.url)
    assert len((await store.copies(URL)).copies) == 1
    assert await store.purge(pattern) == 1
    assert (await store.copies(URL)).copies == ()
    assert len((await store.copies(OTHER)).copies) == 1


async def test_a_tombstone_that_an_earlier_version_writes_holds_by_its_time(open_a_store, earlier, copy_of):
    store = await open_a_store(earlier.url)
    at_s = time.time()
    store.put(copy_of(URL, b"old", at_s - 10), b"old")
    await store.flush()
    with earlier.client as client:  # as it did
        client.set(f"bb1:{{example.org}}:buried:{URL}", repr(at_s - 5))
        client.delete(f"bb1:{{example.org}}:copies:{URL}")
    second = await open_a_store(earlier.url)
    second.put(copy_of(URL, b"older", at_s - 8), b"older")
    second.put(copy_of(OTHER, b"new", at_s), b"new")
    await second.flush()
    third = await open_a_store(earlier.url)
    assert (await third.copies(URL)).copies == ()
    assert [await third.body(copy) for copy in (await third.copies(OTHER)).copies] == [b"new"]
