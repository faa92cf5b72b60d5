"""What a publisher sends on a real server, and when."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.hub_metrics import HubMetrics
from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.hub.packing import unpacked
from bestbefore.addon.hub.publisher import Publisher
from bestbefore.addon.hub.receiver import Receiver
from bestbefore.addon.hub.wire.channel import SiteChannel
from bestbefore.addon.hub.wire.message import Beat, Object, Taken
from bestbefore.addon.hub.wire.position import ReadPosition
from bestbefore.addon.hub.wire.subscription import Subscription
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

KEY = b"0123456789abcdef0123456789abcdef"
PATIENCE_S = 60.0


class World:
    """A hub's store, its publisher, and one reader."""

    def __init__(self, store: Store, connections: list[Connection], make_copy: Callable[..., Copy]) -> None:
        self.clock, self.store, self._make_copy = RealClock(), store, make_copy
        self.channel, self._of_hub = (SiteChannel(connection, "all") for connection in connections)
        self.read: list[Object | Beat | Taken | Any] = []
        self.sent_bytes = 0
        self.noted_s = 0.0
        """When the last contact was noted."""
        self.publisher: Publisher | None = None

    def publish(self, **settings: Any) -> asyncio.Task[None]:
        usual = {"heartbeat": 0.05, "bandwidth": 1 << 20}
        self.publisher = Publisher(
            self._of_hub, "hub", KEY, HubSettings(**(usual | settings)), self.clock, self.store, 1 << 20,
            HubMetrics(CollectorRegistry()), lambda: False,
        )  # fmt: skip
        return asyncio.create_task(self.publisher.run())

    async def fetch(self, path: str, version: str, size: int = 100) -> None:
        """The hub has contacted the origin."""
        body = (version.encode() * size)[:size]
        reference = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), size)
        copy = self._make_copy(version, path=path, at_s=self.clock.now(), body=reference)
        self.store.put(copy, body)
        seen = Fingerprint(etag=f'"{version}"', body=reference.digest)
        await self.store.learn(Observation(copy.url, copy.current_s, "", seen))
        if self.publisher is not None:
            self.publisher.note_contact(copy.url)
            self.noted_s = self.clock.now()

    async def read_on(self) -> None:
        receiver = Receiver(KEY, "all", ReadPosition("c", "0-0", "", (0, 0), 1), 1 << 20)
        while True:
            for entry in await self.channel.read(receiver.position.entry, 1.0):
                self.sent_bytes += entry.size_bytes
                received = receiver.receive(entry, self.clock.now())
                assert received.refused is None
                if received.content is not None:
                    self.read.append(received.content)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    def objects(self) -> list[tuple[str, bool]]:
        """The URLs' paths that were read, and whether with content."""
        carried = (one for one in self.read if isinstance(one, Object))
        return [(unpacked(one).url.removeprefix("http://example.org/"), one.body is not None) for one in carried]

    def taken(self) -> list[str]:
        urls = (url for one in self.read if isinstance(one, Taken) for url in one.urls)
        return [url.removeprefix("http://example.org/") for url in urls]


@pytest.fixture
async def world(
    valkey: Any, make_copy: Callable[..., Copy], subscribe: Callable[..., Subscription]
) -> AsyncIterator[World]:
    store = await open_memory_store(clock=RealClock(), forget_after_s=1e12)
    connections = [Connection(valkey.url, patience_s=PATIENCE_S) for _ in range(2)]
    for connection in connections:
        await connection.open()
    made = World(store, connections, make_copy)
    await made.channel.subscribe(subscribe("edge"), KEY, 60.0)
    reading = asyncio.create_task(made.read_on())
    yield made
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    for closing in (*connections, store):
        await closing.close()


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_change_that_must_wait_is_taken_back_in_time(world: World) -> None:
    await world.fetch("small", "1")
    working = world.publish(bandwidth=12_000, max_wait=0.2)
    await world.until(lambda: world.objects() == [("small", True)])
    await world.fetch("large", "1", 60_000)  # after its last piece the channel is busy for two seconds
    await world.until(lambda: ("large", True) in world.objects())
    await world.fetch("small", "2")
    await world.until(lambda: world.taken() == ["small"])
    changed_s = world.noted_s
    await world.until(
        lambda: any(isinstance(one, Beat) and one.announced_until_s > changed_s for one in world.read[-3:])
    )
    kinds = [type(one).__name__ for one in world.read]
    told = [one.announced_until_s for one in world.read if isinstance(one, Beat)]
    assert told == sorted(told)
    between = world.read[kinds.index("Taken") - 1]
    assert isinstance(between, Beat)
    assert between.announced_until_s <= changed_s  # it was held back until the notice
    await world.until(lambda: world.objects()[-1] == ("small", True) and len(world.objects()) == 3)
    await stopped(working)


async def test_the_hub_vouches_no_longer_than_it_should_and_again_after_a_contact(world: World) -> None:
    await world.fetch("page", "1")
    working = world.publish(vouch=0.3)
    await world.until(lambda: world.taken() == ["page"])
    assert world.objects() == [("page", True)]
    await world.fetch("page", "1")
    await world.until(lambda: len(world.objects()) == 2)
    assert world.objects()[-1] == ("page", False)  # the edge has the content
    await stopped(working)


async def test_what_may_not_be_sent_any_more_is_taken_back(world: World) -> None:
    await world.fetch("page", "1")
    working = world.publish()
    await world.until(lambda: world.objects())
    world.store.drop("http://example.org/page")
    assert world.publisher is not None
    world.publisher.note_contact("http://example.org/page")
    await world.until(lambda: world.taken() == ["page"])
    await stopped(working)


async def test_a_restarted_publisher_sends_only_what_has_changed(world: World) -> None:
    for path in ("a", "b"):
        await world.fetch(path, "1")
    working = world.publish()
    await world.until(lambda: len(world.objects()) == 2)
    await stopped(working)
    await world.fetch("b", "2")
    working = world.publish()
    await world.until(lambda: len(world.objects()) == 3)
    beats = sum(isinstance(one, Beat) for one in world.read)
    await world.until(lambda: sum(isinstance(one, Beat) for one in world.read) > beats + 2)
    assert sorted(path for path, _ in world.objects()) == ["a", "b", "b"]
    await stopped(working)


async def test_the_bandwidth_is_kept(world: World) -> None:
    for n in range(20):
        await world.fetch(f"page{n}", "1", 1000)
    begun_s = world.clock.monotonic()
    working = world.publish(bandwidth=10_000, heartbeat=60.0)
    await world.until(lambda: len(world.objects()) >= 12)
    passed_s = world.clock.monotonic() - begun_s
    assert world.sent_bytes <= 10_000 * (passed_s + 1.0) + 2500  # a second of burst, and a message
    await stopped(working)
