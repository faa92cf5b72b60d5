"""Tombstones apply to all data in process and behind, to that of other processes, and after the store was down."""

import time
from dataclasses import replace

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import Tombstone, UnavailableError
from tests.addon.store.waiting import until

URL = "http://www.example.org/a"


async def test_a_dropped_object_has_no_copy_in_process_or_behind(store, copy_of):
    store.put(copy_of(URL), b"hello")
    await store.flush()
    store.put(copy_of(URL, b"2", selecting=(("a", "1"),)), b"2")
    store.drop(URL)
    assert store.hot(URL) is None
    assert (await store.copies(URL)).copies == ()
    await store.flush()
    assert (await store.copies(URL)).copies == ()


async def test_a_fetch_that_began_before_the_tombstone_is_not_stored(store, copy_of):
    fetched = copy_of(URL)
    store.drop(URL)
    store.put(fetched, b"hello")
    await store.flush()
    assert (await store.copies(URL)).copies == ()


async def test_what_is_stored_after_the_tombstone_is_served(store, copy_of):
    store.drop(URL)
    later = copy_of(URL, stored_s=time.time() + 0.001)
    store.put(later, b"hello")
    await store.flush()
    assert store.hot(URL).copies == (await store.copies(URL)).copies == (later,)


async def test_what_is_stored_again_at_the_moment_of_a_tombstone_is_after_it(open_a_store, where, copy_of):
    store = await open_a_store(where, clock=ManualClock(time.time()))
    store.put(copy_of(URL, b"1", store._clock.now()), b"1")
    store.drop(URL)
    assert (await store.copies(URL)).copies == ()
    store.put(copy_of(URL, b"2", store._clock.now()), b"2")
    await store.flush()
    assert [await store.body(copy) for copy in (await store.copies(URL)).copies] == [b"2"]


async def test_a_drop_in_one_proxy_reaches_the_hot_copies_of_another(open_a_store, valkey, copy_of):
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    first.put(copy_of(URL), b"hello")
    await first.flush()
    assert (await second.copies(URL)).copies
    first.drop(URL)
    await until(lambda: second.hot(URL) is None)
    assert (await second.copies(URL)).copies == ()


async def test_a_literal_star_in_a_url_is_no_pattern(store, copy_of):
    store.put(copy_of("http://a.org/xyz"), b"hello")
    store.drop("http://a.org/x*z")
    assert store.hot("http://a.org/xyz") is not None


def grouped(copy, *names):
    fields = copy.head.fields.added(("Cache-Groups", ", ".join(f'"{name}"' for name in names)))
    return replace(copy, head=replace(copy.head, fields=fields))


async def test_the_copies_of_a_group_are_invalidated_in_process_and_in_the_backend(store, open_a_store, where, copy_of):
    urls = [f"http://www.example.org/{i}" for i in range(3)]
    for url, names in zip(urls, (["a"], ["b", "a"], ["b"]), strict=True):
        store.put(grouped(copy_of(url, b"hello", 1000.0), *names), b"hello")
    await store.flush()
    pending = grouped(copy_of(f"{URL}/pending", b"hello", 1000.0), "a")
    store.put(pending, b"hello")
    store.drop_groups(['"a"@http://www.example.org', '"b"@http://example.org'])
    store.put(pending, b"hello")  # fetched before
    assert [store.hot(url) is not None for url in (*urls, pending.url)] == [False, False, True, False]
    await store.flush()
    assert [len((await store.copies(url)).copies) for url in (*urls, pending.url)] == [0, 0, 1, 0]
    if where != "memory":
        after = await open_a_store(where)
        assert [len((await after.copies(url)).copies) for url in urls] == [0, 0, 1]
    store.put(grouped(copy_of(urls[0]), "a"), b"hello")
    assert store.hot(urls[0]) is not None


async def test_another_proxy_drops_the_copies_of_a_group(open_a_store, valkey, copy_of):
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    await first.flush(), await second.flush()
    second.put(grouped(copy_of(URL), "a"), b"hello")
    first.drop_groups(['"a"@http://www.example.org'])
    await first.flush()
    await until(lambda: second.hot(URL) is None)


async def test_other_processes_get_tombstones_also_those_that_start_later(open_a_store, valkey):
    seen, later = [], []
    await open_a_store(valkey.url, forgotten=seen.append)
    forgetting = await open_a_store(valkey.url)
    await forgetting.purge("example.net")
    await forgetting.forget("*.example.org")
    await until(lambda: seen)
    await open_a_store(valkey.url, forgotten=later.append)
    assert {(t.pattern, t.histories) for t in seen} == {("*.example.org", True)} == {(t.pattern, True) for t in later}


async def test_a_tombstone_written_while_a_proxy_was_cut_off_reaches_it_before_it_writes(
    start_valkey, open_a_store, copy_of
):
    server = start_valkey("--appendonly", "yes", "--appendfsync", "always")
    other, store = await open_a_store(server.url), await open_a_store(server.url)
    server.kill()
    await until(lambda: store.status().down)
    store.put(copy_of(URL), b"hello")
    other.drop(URL)
    server.start()
    await until(lambda: store.hot(URL) is None)
    await store.flush()
    assert (await other.copies(URL)).copies == ()


async def test_a_tombstone_that_another_process_passes_on_while_cut_off_is_written_by_either(
    start_valkey, open_a_store, copy_of
):
    server = start_valkey("--appendonly", "yes", "--appendfsync", "always")
    other, store, third = [await open_a_store(server.url) for _ in range(3)]
    other.put(copy_of(URL), b"hello")
    await other.flush()
    await store.copies(URL)
    other.invalidation.pass_on = store.invalidation.take_over
    server.kill()
    await until(lambda: store.status().down and third.status().down)
    other.drop(URL)  # it need not have noticed yet
    await until(lambda: other.status().down)
    assert store.hot(URL) is None
    other._write_behind._task.cancel()  # as if it had been killed
    server.start()
    await until(lambda: not store.status().down and not third.status().down)
    await store.flush()
    assert (await third.copies(URL)).copies == ()


async def test_cut_off_for_longer_than_tombstones_are_kept_no_copy_is_kept(start_valkey, open_a_store, copy_of):
    server = start_valkey()
    clock = ManualClock(1e9)
    store = await open_a_store(server.url, clock=clock)
    server.kill()
    await until(lambda: store.status().down)
    store.put(copy_of(URL, stored_s=1e9), b"hello")
    clock.advance(90_000)
    server.start()
    await until(lambda: not store.status().down)
    assert store.hot(URL) is None


@pytest.mark.parametrize(("earliest_s", "is_kept"), [(10.0, True), (30.0, False)])
async def test_nor_where_so_many_came_meanwhile_that_some_may_have_left(
    open_a_store, copy_of, monkeypatch, earliest_s, is_kept
):
    for module in ("tests.addon.store.memory_backend", "bestbefore.addon.store.invalidation"):
        monkeypatch.setattr(f"{module}.TOMBSTONES_AT_MOST", 2)
    clock = ManualClock(1e9)
    store = await open_a_store("memory", clock=clock)
    store.put(copy_of(URL, stored_s=1e9), b"hello")
    clock.advance(20.0)
    store._link.mark_down(UnavailableError("gone"))
    await store._link.backend.add_tombstones(
        [Tombstone(1e9 + t, f"{URL}/{i}", exact=True) for i, t in enumerate([1.0, earliest_s, 40.0])]
    )
    clock.advance(100.0)
    await until(lambda: not store.status().down)
    assert (store.hot(URL) is not None) is is_kept
