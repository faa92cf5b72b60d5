"""Announcements of replaced copies reach the other processes on a server or cluster, and not their writer."""

from typing import Any

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.bodies import BodyFiles
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.redis import RedisBackend
from tests.addon.store.waiting import until

URLS = ["http://example.org/é?{}", "http://example.org/b"]


async def connected(url: str, received: list[Any], files: BodyFiles | None = None) -> RedisBackend:
    backend = RedisBackend(Connection(url), RealClock(), clock_mark="real", forget_after_s=1e6, files=files)
    backend.replaced.on_replaced = received.append
    await backend.connect(lambda _: None, lambda _: None)
    return backend


@pytest.mark.parametrize("kind", ["valkey", "cluster"])
async def test_others_receive_what_a_process_announces(request: pytest.FixtureRequest, kind: str) -> None:
    found = request.getfixturevalue(kind)
    urls = [node.url for node in found] if kind == "cluster" else [found.url, found.url]
    at_one, at_other = list[Any](), list[Any]()
    one, other = await connected(urls[0], at_one), await connected(urls[1], at_other)
    await one.replaced.announce(URLS)
    await until(lambda: at_other == [URLS])
    await other.replaced.announce(URLS[:1])
    await until(lambda: at_one == [URLS[:1]])
    await one.close()
    await other.close()


async def test_nothing_is_sent_of_nothing_nor_where_all_have_a_relay(valkey: Any, tmp_path: Any) -> None:
    received = list[Any]()
    other = await connected(valkey.url, received)
    own = await connected(valkey.url, [], BodyFiles(tmp_path))
    await own.replaced.announce(URLS)
    await other.replaced.announce([])
    shared = await connected(valkey.url, [])
    await shared.replaced.announce(URLS[1:])
    await until(lambda: received == [URLS[1:]])
    for one in (other, own, shared):
        await one.close()
