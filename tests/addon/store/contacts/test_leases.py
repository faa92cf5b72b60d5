"""Of several processes on a store, one contacts the origin, and the others wait no longer than is of use."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from bestbefore.addon.store.backend.interface import CopySet
from bestbefore.addon.store.cache.copies import BATCH
from bestbefore.addon.store.contacts import leases as module
from bestbefore.addon.store.contacts.keeper import ContactName
from bestbefore.addon.store.contacts.leases import ContactLease
from bestbefore.addon.store.store import Store

URL = "http://example.org/"
NAME = ContactName.of(URL, "", ())
PATIENCE_S = 30.0
HELD_S = 4.0
"""The lease of a process whose end is awaited: longer than until another begins to wait, on a busy machine too."""


def turn(
    store: Store, patience_s: float = PATIENCE_S, begun: asyncio.Event | None = None
) -> Awaitable[CopySet | ContactLease | None]:
    async def choose(copies: CopySet, _received_s: float | None) -> CopySet | None:
        if begun is not None:
            begun.set()
        return copies if copies.copies else None

    return store.contact_leases.turn(NAME, "", choose, patience_s)


async def waiting(*stores: Store) -> list[asyncio.Task[Any]]:
    """Turns that wait for the holder."""
    begun = [asyncio.Event() for _ in stores]
    tasks = [asyncio.ensure_future(turn(store, begun=one)) for store, one in zip(stores, begun, strict=True)]
    await asyncio.gather(*(one.wait() for one in begun))
    assert not any(task.done() for task in tasks)
    return tasks


@pytest.fixture
async def stores(valkey: Any, open_a_store: Any, monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    monkeypatch.setattr(module, "LEASE_S", 2 * PATIENCE_S)  # nothing below waits for its end
    return [await open_a_store(valkey.url) for _ in range(3)]


async def test_the_others_get_what_the_first_has_stored(stores: list[Store], copy_of: Any) -> None:
    first, second, third = stores
    lease = await turn(first)
    assert isinstance(lease, ContactLease)
    tasks = await waiting(second, third)
    copy = copy_of(URL)
    first.put(copy, b"hello")
    lease.end(is_shareable=True)
    lease.end(is_shareable=False)
    found = await asyncio.gather(*tasks)
    assert all([(await store.body(one.copies[0])) == b"hello" for store, one in zip(stores[1:], found, strict=True)])
    assert isinstance(await turn(third), CopySet), "nor is a contact made for who comes later"


async def test_the_others_make_contacts_of_their_own_for_what_cannot_be_shared(stores: list[Store]) -> None:
    lease = await turn(stores[0])
    assert isinstance(lease, ContactLease)
    tasks = await waiting(*stores[1:])
    lease.end(is_shareable=False)
    async with asyncio.timeout(PATIENCE_S / 2):
        assert await asyncio.gather(*tasks) == [None, None]


async def test_another_takes_over_from_a_process_that_was_killed(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEASE_S", HELD_S)
    first, second, third = stores
    assert isinstance(await turn(first), ContactLease)
    first.contact_leases.close()
    tasks = await waiting(second, third)
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    (lease,) = [task.result() for task in done]
    assert isinstance(lease, ContactLease), "one of them"
    lease.end(is_shareable=False)
    await asyncio.gather(*pending)  # the other does not wait for what has ended


async def test_a_lease_is_renewed(stores: list[Store], valkey: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.02)
    assert isinstance(await turn(stores[0]), ContactLease)
    with valkey.client as client:
        (key,) = client.keys("bb1:contact:*")
        client.expire(key, 10)
        async with asyncio.timeout(PATIENCE_S):
            while client.ttl(key) <= 10:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_the_others_do_not_wait_for_a_copy_that_the_store_refuses(
    valkey: Any, open_a_store: Any, copy_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has no replica, so no copy counts as written, and the first batch is written again and again."""
    monkeypatch.setattr(module, "LEASE_S", HELD_S)
    first, second = await open_a_store(f"{valkey.url}?wait=1"), await open_a_store(valkey.url)
    lease = await turn(first)
    assert isinstance(lease, ContactLease)
    for name in [f"{URL}{i}" for i in range(BATCH)] + [URL]:
        first.put(copy_of(name), b"hello")
    (task,) = await waiting(second)
    lease.end(is_shareable=True)
    async with asyncio.timeout(PATIENCE_S / 2):
        assert isinstance(await task, ContactLease)


async def test_a_wait_is_bounded(stores: list[Store]) -> None:
    assert isinstance(await turn(stores[0]), ContactLease)
    assert await turn(stores[1], patience_s=0.05) is None


async def test_without_a_backend_no_request_waits(stores: list[Store], valkey: Any) -> None:
    assert isinstance(await turn(stores[0]), ContactLease)
    (task,) = await waiting(stores[1])
    valkey.kill()
    async with asyncio.timeout(PATIENCE_S / 2):
        assert await task is None
    assert [await turn(store) for store in stores] == [None] * 3
    valkey.start()


async def test_a_process_makes_its_next_contact_without_asking_unless_another_waits(stores: list[Store]) -> None:
    first, second, _ = stores
    lease = await turn(first)
    assert isinstance(lease, ContactLease)
    lease.end(is_shareable=True)
    again = await turn(first)
    assert isinstance(again, ContactLease)
    assert again.token == lease.token
    (task,) = await waiting(second)
    again.end(is_shareable=True)
    assert isinstance(await task, ContactLease)
    await first.flush()
    assert first.contact_leases.waiting == 0


async def test_a_store_that_refuses_writes_is_not_taken_for_one_that_is_down(stores: list[Store], valkey: Any) -> None:
    with valkey.client as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        try:
            assert await turn(stores[0]) is None
            copies, _, lease = await stores[0].look_up(URL, copies=True, lease=NAME)
            assert copies is not None, "it can be read"
            assert lease is None
        finally:
            client.config_set("maxmemory", 0)
    assert not stores[0].status().down
    lease = await turn(stores[0])
    assert isinstance(lease, ContactLease)
    lease.end(is_shareable=False)


async def test_a_look_up_takes_the_lease_of_a_likely_contact_with_it(stores: list[Store], copy_of: Any) -> None:
    first, second, third = stores
    _, _, lease = await first.look_up(URL, copies=True, lease=NAME)
    assert isinstance(lease, ContactLease)
    assert (await first.look_up(URL, copies=True, lease=NAME))[2] is None, "the process has it"
    assert (await second.look_up(URL, copies=True, lease=NAME))[2] is None, "another has it"
    (task,) = await waiting(second)
    assert await turn(first) is lease, "any request of the process may use it"
    first.contact_leases.drop_unused(lease)
    assert not task.done(), "it is in use"
    first.put(copy_of(URL), b"hello")
    lease.end(is_shareable=True)
    assert isinstance(await task, CopySet)
    await second.flush()  # it took the lease, and has given it back
    copies, _, lease = await third.look_up(URL, copies=True, lease=NAME)
    assert copies is not None
    assert copies.copies
    assert lease is None, "there is a copy, which probably answers"
    (_, _, lease), early = await asyncio.gather(third.look_up(URL, copies=True, lease=NAME), turn(third))
    assert isinstance(lease, ContactLease), "the copy is in memory, and has not answered"
    assert early is lease, "a request that comes meanwhile waits for the look-up, not for its own process"


async def test_a_look_up_that_is_cancelled_keeps_no_lease(stores: list[Store], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, _ = stores
    look_up, asked = first._link.backend.look_up, asyncio.Event()

    async def slow(*given: Any, **named: Any) -> Any:
        await look_up(*given, **named)
        asked.set()
        await asyncio.sleep(PATIENCE_S)

    monkeypatch.setattr(first._link.backend, "look_up", slow)
    task = asyncio.ensure_future(first.look_up(URL, copies=True, lease=NAME))
    await asked.wait()
    task.cancel()
    async with asyncio.timeout(PATIENCE_S / 2):
        assert isinstance(await turn(second), ContactLease)
