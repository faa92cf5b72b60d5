"""One thing that cannot be written is set aside, whatever kind it is of, and all else is written."""

import asyncio
from dataclasses import replace

import pytest

from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.feeds.document import Hints

ODD = "\udcff"
"""A lone surrogate: neither msgpack nor a server takes it."""


def url(i):
    return f"http://www.example.org/{i}"


def bad_history(store, copy_of):
    seen = Observation(url("bad"), 1000.0, "", None, listing=Listing(b"", Hints(), ODD))
    return store.learn(seen)


async def bad_copy(store, copy_of):
    store.put(replace(copy_of(url("bad")), rule=ODD), b"hello")


async def bad_requests(store, copy_of):
    store._requests.counts[url(ODD)] = 1


async def bad_wants(store, copy_of):
    store.planning.want(url("bad"), ODD)


async def bad_tombstone(store, copy_of):
    store.drop(url(ODD))


@pytest.mark.parametrize(
    ("kind", "add"),
    [
        ("history", bad_history),
        ("copy", bad_copy),
        ("requests", bad_requests),
        ("wants", bad_wants),
        ("tombstone", bad_tombstone),
    ],
)
async def test_one_of_a_batch_is_set_aside_and_the_rest_is_written(
    open_a_store, valkey, observe, copy_of, logged, kind, add
):
    store = await open_a_store(valkey.url)
    gone = copy_of(url("gone"))
    store.put(gone, b"hello")
    await store.flush()
    for i in range(20):
        if i == 7:
            await add(store, copy_of)
        await store.learn(observe(url(i), 1000))
        store.put(copy_of(url(i)), b"hello")
        store.requested(url(i))
        store.planning.want(url(i), "")
    store.drop(gone.url)
    assert await store.flush()
    status = store.status()
    assert dict(status.write_errors) == {kind: 1}
    assert (status.pending_observations, status.pending_copies, status.conditions) == (0, 0, frozenset())
    assert store.health()["status"] == "ok"
    assert len([line for line in logged() if "cannot be" in line]) == 1
    other = await open_a_store(valkey.url)
    for i in range(20):
        assert (await other.record(url(i))).contacts == 1
        assert len((await other.copies(url(i))).copies) == 1
    assert len(await other.top(100)) == 20
    assert sum(map(bool, await other.planning.asked([url(i) for i in range(20)], ("",)))) == 20
    assert (await other.copies(gone.url)).copies == ()
    await store.learn(observe(url("bad"), 2000))
    assert await store.flush()
    assert (await other.record(url("bad"))).contacts == 1


async def test_what_has_a_name_that_cannot_be_written_is_not_kept_at_all(open_a_store, where, observe, copy_of):
    store = await open_a_store(where)
    odd = url(ODD)
    assert (await store.learn(observe(odd, 1000))).record.contacts == 1
    store.put(copy_of(odd), b"hello")
    store.requested(odd)
    store.planning.want(odd, "")
    assert store.hot(odd) is None
    assert await store.flush()
    assert [known async for known in store.urls()] == []
    assert await store.top(5) == []


async def test_of_copies_those_that_the_backend_refuses_for_themselves_are_set_aside(open_a_store, tmp_path, copy_of):
    store = await open_a_store("embedded", state=tmp_path)
    large = bytes(100_000)
    for i in range(5):
        store.put(copy_of(url(i), large + b"%d" % i), large + b"%d" % i)
    odd = copy_of(url("bad"), large)
    store.put(replace(odd, body=replace(odd.body, digest="../../x")), large)
    assert await store.flush()
    assert (dict(store.status().write_errors), store.status().dropped_copies) == ({"copy": 1}, 0)
    assert len(list((tmp_path / "bodies").glob("*/*"))) == 5


async def test_content_on_disk_that_is_damaged_is_gone_and_counted(open_a_store, tmp_path, copy_of):
    store = await open_a_store("embedded", state=tmp_path, hot_max=1)
    for size in (100_000, 2_000_000):
        content = bytes(size)
        copy = copy_of(url(size), content)
        store.put(copy, content)
        await store.flush()
        found = await store.body(copy)
        assert (found if isinstance(found, bytes) else found.read_bytes()) == content
        (file,) = [path for path in (tmp_path / "bodies").glob("*/*") if path.stat().st_size == size]
        file.write_bytes(b"x" + content[1:])
        assert await store.body(copy) is None
        assert not file.exists()
    assert dict(store.status().corrupt_entries) == {"body": 2}


async def test_one_by_which_the_server_ends_the_connection_is_set_aside_too(start_valkey, open_a_store, copy_of):
    server = start_valkey("--proto-max-bulk-len", "1mb")
    store = await open_a_store(server.url)
    large = bytes(2_000_000)
    for i in range(150):
        store.put(copy_of(url(i)), b"hello")
        if i == 120:
            store.put(copy_of(url("bad"), large), large)
    for _ in range(1000):
        if await store.flush() and not store.status().pending_copies:
            break
        await asyncio.sleep(0.05)
    assert dict(store.status().write_errors) == {"copy": 1}
    with server.client as client:
        assert len(client.keys("*:copies:*")) == 150
    server.kill()
