"""Leases of contacts in a server: one holder at a time, who is woken, and what another process has written there."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.contacts.keeper import ContactName, EndedLease
from bestbefore.addon.store.contacts.redis import RedisContacts

A = ContactName.of("http://example.org/é?{}", "", ("en", None))
LEASE_S = 60.0


@pytest.fixture
async def contacts(valkey: Any) -> AsyncIterator[RedisContacts]:
    async def decode(_url: str, variants: Any) -> Any:
        return [bytes(one) for one in variants]

    connection = Connection(valkey.url)
    await connection.open()
    yield RedisContacts(RepairingCommands(connection, Faults(time.monotonic)), decode)
    await connection.close()


async def test_one_process_has_the_lease_until_it_ends(contacts: RedisContacts, valkey: Any) -> None:
    with valkey.client as client:
        client.hset(keys.of_object(A.url, "copies")[0], "variant", b"copy")
        before_s = time.time()
        *begun, time_s = await contacts.begin(A, "one", LEASE_S)
        assert begun == [True, LEASE_S, [b"copy"]]
        assert before_s - 0.01 < time_s < time.time()
        assert not (await contacts.begin(A, "two", LEASE_S)).is_ours
        assert (await contacts.begin(A._replace(digest="ab"), "two", LEASE_S)).is_ours, "another variant"
        await contacts.renew([(A, "one"), (A, "two")], 2 * LEASE_S)
        assert LEASE_S < client.pttl(keys.of_contact(*A)) / 1000 <= 2 * LEASE_S, "awaited or not"
        await contacts.end([EndedLease(A, "two", is_shareable=True)])
        assert not (await contacts.begin(A, "two", LEASE_S)).is_ours, "only its holder ends it"
        await contacts.end([EndedLease(A, "one", is_shareable=True)])
        assert (await contacts.begin(A, "two", 0.001)).is_ours
        await asyncio.sleep(0.005)
        assert (await contacts.begin(A, "three", LEASE_S)).is_ours, "its holder was killed"


async def test_holder_and_waiting_processes_are_notified(contacts: RedisContacts, valkey: Any) -> None:
    awaited, ended = list[str](), list[tuple[str, bool, float | None]]()
    contacts.on_awaited, contacts.on_ended = awaited.append, lambda *end: ended.append(end)
    with valkey.client as client:
        channel = client.pubsub()
        channel.subscribe(keys.CONTACTS_CHANNEL)
        assert channel.get_message(timeout=60)
        for token, is_shareable, received_s in (("one", True, 1_800_000_000.5), ("two", False, None)):
            assert (await contacts.begin(A, token, LEASE_S)).is_ours
            for _ in range(3):
                await contacts.begin(A, "other", LEASE_S)
            await contacts.end([EndedLease(A, token, is_shareable, received_s)])
        await contacts.begin(A, "three", LEASE_S)
        await contacts.end([EndedLease(A, "three", is_shareable=True)])
        while len(awaited) + len(ended) < 4:
            contacts.receive(channel.get_message(timeout=60)["data"])
        assert channel.get_message(timeout=0.2) is None
    contacts.receive(b"rubbish")
    contacts.receive(b"\xff shareable ?")
    assert awaited == [A.digest] * 2, "once for each lease"
    assert ended == [(A.digest, True, 1_800_000_000.5), (A.digest, False, None)], "not where no process waits"


async def test_what_bestbefore_did_not_write_there_does_no_harm(contacts: RedisContacts, valkey: Any) -> None:
    with valkey.client as client:
        client.set(keys.of_contact(*A), "eternal")
        assert 0 < (await contacts.begin(A, "one", LEASE_S)).remaining_s <= LEASE_S
        client.delete(keys.of_contact(*A))
        client.lpush(keys.of_contact(*A), "rubbish")
        assert (await contacts.begin(A, "one", LEASE_S)).is_ours
