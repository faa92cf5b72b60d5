"""What is known of a site in a server: summed, bounded, and readable whatever another process has written there."""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.sites import redis as module
from bestbefore.addon.store.sites.keeper import SiteNews
from bestbefore.addon.store.sites.redis import RedisSites
from bestbefore.policies.validation.siblings.changes import CHANGES_KEPT
from bestbefore.policies.validation.siblings.siblings import Lesson, Siblings
from bestbefore.policies.validation.siblings.trials import Trials

A = "http://example.org/é?{}"
"""An object with what has a meaning in keys."""


@pytest.fixture
async def sites(valkey: Any) -> AsyncIterator[RedisSites]:
    connection = Connection(valkey.url)
    await connection.open()
    yield RedisSites(RepairingCommands(connection, Faults(time.monotonic)), RealClock(), [].append)
    await connection.close()


def news(*lessons: Lesson) -> SiteNews:
    known = Siblings()
    for lesson in lessons:
        known.learn(lesson)
    return SiteNews("example.org", "me", known)


async def test_what_was_added_is_read_and_summed(sites: RedisSites) -> None:
    assert (await sites.read("example.org")).version == 0
    await sites.add(news(Lesson(A, Trials(1, 2, 3, 4), 1000.25)))
    version, known = await sites.read("example.org")
    await sites.add(news(Lesson(A, Trials(1, 1, 0, 0), 2000.0), Lesson(A, Trials(), 1000.25)))
    later, sums = await sites.read("example.org")
    assert 0 < version < later
    assert known.by_name == {A: Trials(1, 2, 3, 4)}
    assert sums.of_site == sums.by_name[A] == sums.by_directory["http://example.org"] == Trials(2, 3, 3, 4)
    assert sorted(change.update_s for change in sums.changes) == [1000.25, 2000.0]


async def test_published_news_are_what_was_added(sites: RedisSites, valkey: Any) -> None:
    received: list[SiteNews] = []
    sites.on_news = received.append
    with valkey.client as client:
        channel = client.pubsub()
        channel.subscribe("bb1:sites")
        assert channel.get_message(timeout=60)
        for update_s in (1.0, 2.0):
            await sites.add(news(Lesson(A, Trials(0, 1), update_s)))
        await sites.forget(A.__eq__)
        for _ in range(3):
            sites.receive(channel.get_message(timeout=60)["data"])
    first, second, forgotten = received
    assert (first.by, first.after, second.after, forgotten.after) == ("me", 0, first.version, -1)
    assert second.siblings.by_name == {A: Trials(0, 1)}
    assert (await sites.read("example.org")).version == 0
    sites.receive(b"1 2 rubbish")
    sites.receive(b"rubbish")
    assert len(received) == 3


async def test_counts_and_changes_are_bounded_and_expire(
    sites: RedisSites, valkey: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COUNTS_KEPT", 10)
    await sites.add(news(*(Lesson(f"http://example.org/{n}/{n}", Trials(0, 1), float(n)) for n in range(40))))
    known = (await sites.read("example.org")).siblings
    assert len(known.by_name) + len(known.by_directory) <= 10
    assert known.of_site == Trials(0, 40)
    assert len(list(known.changes)) == CHANGES_KEPT
    with valkey.client as client:
        assert min(client.pttl(f"bb1:{{example.org}}:{kind}") for kind in ("changes", "siblings")) > 0


async def test_what_another_process_has_damaged_is_left_out(sites: RedisSites, valkey: Any) -> None:
    with valkey.client as client:
        damaged = {"version": "x", "site": "1 2", "o:\xff": "", b"\xff": b"\xff"}
        client.hset("bb1:{example.org}:siblings", mapping=damaged)
        client.rpush("bb1:{example.org}:changes", b"\xff", "x")
        assert list((await sites.read("example.org")).siblings.names()) == ["\xff"]
        await sites.add(news(Lesson(A, Trials(0, 1), 1.0)))
        version, known = await sites.read("example.org")
        assert version > 0
        assert (known.of_site, known.by_name[A]) == (Trials(1, 3), Trials(0, 1))
        client.set("bb1:{example.org}:siblings", "rubbish")
        await sites.add(news(Lesson(A, Trials(0, 1), 1.0)))
        assert (await sites.read("example.org")).siblings.of_site == Trials(0, 1)
