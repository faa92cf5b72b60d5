"""The channel on a real server."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from bestbefore.addon.hub.catalogue import Sent, encode_sent
from bestbefore.addon.hub.wire.channel import SiteChannel, sites
from bestbefore.addon.hub.wire.position import place_of
from bestbefore.addon.hub.wire.subscription import Subscription
from bestbefore.addon.store.backend.connection import Connection

KEY = b"0123456789abcdef0123456789abcdef"
ONE, TWO = "1" * 16, "2" * 16


@pytest.fixture
async def channel(valkey: Any) -> AsyncIterator[SiteChannel]:
    connection = Connection(valkey.url)
    await connection.open()
    yield SiteChannel(connection, "all")
    await connection.close()


async def test_one_process_publishes_at_a_time(channel: SiteChannel) -> None:
    assert await channel.hold(ONE, 30.0)
    assert await channel.hold(ONE, 30.0)
    assert not await channel.hold(TWO, 30.0)
    assert await channel.publish(TWO, b"m", b"s", (1, 1), {}) is None
    await channel.release(TWO)
    assert not await channel.hold(TWO, 30.0)
    await channel.release(ONE)
    assert await channel.hold(TWO, 30.0)


async def test_messages_are_read_in_order_and_from_a_position(channel: SiteChannel) -> None:
    assert await channel.last() == "0-0"
    assert await channel.read("0-0", 0.01) == []
    await channel.hold(ONE, 30.0)
    entries = [await channel.publish(ONE, b"m%d" % n, b"s", (1, n), {}) for n in range(3)]
    found = await channel.read("0-0", 0.01)
    assert [(one.id, one.message, one.signature) for one in found] == [
        (entry, b"m%d" % n, b"s") for n, entry in enumerate(entries)
    ]
    assert [one.message for one in await channel.read(found[1].id, 0.01)] == [b"m2"]
    assert await channel.last() == entries[2]
    await channel.trim(found[2].id)
    assert [one.message for one in await channel.entries()] == [b"m2"]
    assert await channel.entries(found[2].id) == []


async def test_an_epoch_follows_the_last_message(channel: SiteChannel) -> None:
    await channel.hold(ONE, 30.0)
    first = await channel.begin()
    assert first.after == (0, 0)
    await channel.publish(ONE, b"m", b"s", (first.number, 7), {})
    second = await channel.begin()
    assert second.number > first.number
    assert second.after == (first.number, 7)


async def test_what_was_sent_is_noted_at_the_place_of_its_first_message(channel: SiteChannel) -> None:
    await channel.hold(ONE, 30.0)
    sent = Sent(0, "content", "renewal")
    first = await channel.publish(ONE, b"m", b"s", (1, 1), {"a": encode_sent(sent)})
    assert first is not None
    await channel.publish(ONE, b"m", b"s", (1, 2), {"b": encode_sent(sent)}, first=first)
    assert await channel.sent() == dict.fromkeys(("a", "b"), Sent(place_of(first), "content", "renewal"))
    await channel.forget_sent(["a"])
    await channel.forget_sent([])
    assert set(await channel.sent()) == {"b"}


async def test_subscriptions_are_leases(channel: SiteChannel, subscribe: Callable[..., Subscription]) -> None:
    edge, other = subscribe("edge"), replace(subscribe("edge"), holder=TWO)
    assert await channel.subscribe(edge, KEY, 30.0)
    assert not await channel.subscribe(other, KEY, 30.0)
    assert await channel.subscriptions(KEY) == [edge]
    assert await channel.subscriptions(KEY[::-1]) == []
    assert await channel.subscribers() == ["edge"]
    await channel.unsubscribe(other)
    assert await channel.subscriptions(KEY) == [edge]
    await channel.unsubscribe(edge)
    assert await channel.subscriptions(KEY) == await channel.subscribers() == []
    assert await channel.subscribe(other, KEY, 30.0)
    assert await sites(channel._connection) == ["all"]


async def test_a_subscription_counts_only_under_its_own_name_and_site(
    channel: SiteChannel, subscribe: Callable[..., Subscription], valkey: Any
) -> None:
    await channel.subscribe(subscribe("edge"), KEY, 30.0)
    with valkey.client as client:
        record = client.get("bb1:channel:{all}:lease:edge")
        client.set("bb1:channel:{all}:lease:copied", record)
        client.sadd("bb1:channel:{all}:leases", "copied", b"\xff")
    assert [one.name for one in await channel.subscriptions(KEY)] == ["edge"]


async def test_the_report_is_read_back(channel: SiteChannel, valkey: Any) -> None:
    assert await channel.status() is None
    await channel.report({"objects": 1}, 30.0)
    assert await channel.status() == {"objects": 1}
    with valkey.client as client:
        client.set("bb1:channel:{all}:status", "[damaged")
    assert await channel.status() is None
