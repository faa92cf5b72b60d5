"""What one process learns of a site, another knows at once, and the next one after a restart."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bestbefore.addon.engine.observation import SiteContact
from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.sites import sites as module
from bestbefore.addon.store.store import Store
from tests.addon.store.waiting import until

A, B, C = (f"http://www.example.org/news/{name}" for name in "abc")
T = 1_000_000.0

type Open = Callable[..., Awaitable[Store]]


def changed(store: Store, copy: Any, at_s: float = T, previous_s: float = T - 60.0) -> None:
    store.sites.contact(copy, SiteContact(previous_s, at_s))


def found(store: Store) -> list[tuple[float, str]]:
    """Return the changes that a process knows of the site."""
    site = store.sites._sites.get("example.org")
    return [] if site is None else [(change.update_s, change.name) for change in site.siblings.changes]


async def test_another_proxy_knows_of_a_change_at_once(open_a_store: Open, valkey: Any, copy_of: Any) -> None:
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    b = copy_of(B, stored_s=T - 30.0, sibling_chance=0.05)
    await second.copies(B)
    changed(first, copy_of(A))
    assert first.sites.outdating(b).name == A, "this process knows at once"
    await until(lambda: second.sites.outdating(b))
    assert second.sites.outdating(b) == first.sites.outdating(b)


async def test_counts_of_all_proxies_are_summed_and_outlive_them(
    open_a_store: Open, valkey: Any, copy_of: Any
) -> None:
    proxies = [await open_a_store(valkey.url) for _ in range(2)]
    for step in range(8):
        one, other = proxies[step % 2], proxies[1 - step % 2]
        update_s = T + step * 60.0
        for proxy, url in ((one, A), (other, B)):
            await proxy.copies(url)
            changed(proxy, copy_of(url), update_s, update_s - 30.0)
            await proxy.flush()
            for each in proxies:
                await until(lambda: found(each)[-1:] == [(update_s, url)] or not found(each))  # noqa: B023
    third = await open_a_store(valkey.url)
    await third.copies(B)
    known = third.sites._sites["example.org"].siblings
    assert (known.of_site.same, known.of_site.same_together) == (8, 8)
    assert known.of_site == known.by_directory["http://www.example.org/news"] == known.by_name[B]
    assert found(third) == [(T + step * 60.0, url) for step in range(8) for url in (A, B)]


async def test_what_was_missed_is_read_again(open_a_store: Open, valkey: Any, copy_of: Any) -> None:
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    b = copy_of(B, stored_s=T - 30.0, sibling_chance=0.05)
    changed(second, copy_of(C), T - 40.0, T - 90.0)
    await second.flush()
    await until(lambda: second.sites._sites["example.org"].version)
    keeper = second.sites._link.backend.sites
    receive, keeper.on_news = keeper.on_news, lambda _: None
    changed(first, copy_of(A))
    await first.flush()
    await asyncio.sleep(0.05)
    keeper.on_news = receive
    changed(first, copy_of(C), T - 20.0)
    await until(lambda: len(found(second)) == 3)
    assert second.sites.outdating(b).name == C


async def test_a_site_that_is_no_longer_in_memory_is_read_at_the_next_hit(
    open_a_store: Open, where: str, copy_of: Any
) -> None:
    store = await open_a_store(where)
    b = copy_of(B, stored_s=T - 30.0, sibling_chance=0.05)
    changed(store, copy_of(A))
    await store.flush()
    store.sites._sites.clear()
    assert store.sites.outdating(b) is None
    await until(lambda: store.sites.outdating(b))


async def test_forgotten_objects_are_forgotten_by_all(open_a_store: Open, valkey: Any, copy_of: Any) -> None:
    first, second = await open_a_store(valkey.url), await open_a_store(valkey.url)
    await second.copies(B)
    changed(first, copy_of(A))
    await first.flush()
    await until(lambda: second.sites.outdating(copy_of(B, stored_s=T - 30.0, sibling_chance=0.05)))
    await first.purge(A)
    assert len(second.sites._sites) == 1, "a purge removes copies, not what was learnt"
    await first.forget("http://*.example.org/*")
    await until(lambda: not second.sites._sites)
    await second.copies(B)
    assert second.sites.outdating(copy_of(B, stored_s=T - 30.0, sibling_chance=0.05)) is None
    with valkey.client as client:
        assert [key for key in client.keys("bb1:*") if b"siblings" in key or b"changes" in key] == []


async def test_what_clients_can_make_it_keep_is_bounded(open_a_store: Open, copy_of: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "SITES_KEPT", 3)
    store = await open_a_store()
    for number in range(9):
        changed(store, copy_of(f"http://example{number}.org/a"))
        store.sites.outdating(copy_of(f"http://other{number}.org/a"))
    changed(store, copy_of("http://example.com/" + "x" * module.LONGEST_URL))
    changed(store, copy_of("http://example.com/\udcff"))
    assert store.sites.waiting == 3
    assert len(store.sites._due) <= 3
    assert "example.com" not in store.sites._sites


async def test_what_was_learnt_while_the_store_was_down_is_written_when_it_is_up(
    open_a_store: Open, copy_of: Any, monkeypatch: Any
) -> None:
    store = await open_a_store()
    keeper, add = store._link.backend.sites, store._link.backend.sites.add

    async def fails(_: Any) -> None:
        raise UnavailableError("down")

    monkeypatch.setattr(keeper, "add", fails)
    changed(store, copy_of(A))
    assert not await store.flush()
    changed(store, copy_of(B), T + 1.0)
    monkeypatch.setattr(keeper, "add", add)
    await until(lambda: not store.sites.waiting)
    assert {change.name for change in (await keeper.read("example.org")).siblings.changes} == {A, B}
