"""A hub and twenty edges beside a simulation of the same instance: `python tests/bench/hub_freshness.py [--record]`.

With --record the table also becomes docs/results/hub.md.
"""

import asyncio
import hashlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from results_page import write_page

sys.path.insert(0, str(Path(__file__).parents[2]))

from bestbefore.addon.admin.hub_metrics import HubMetrics
from bestbefore.addon.clock import FastClock
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.hub.intake import Intake
from bestbefore.addon.hub.packing import packed
from bestbefore.addon.hub.publisher import Publisher
from bestbefore.addon.hub.queue import HEAD_BYTES
from bestbefore.addon.hub.rate_limit import RateLimit
from bestbefore.addon.hub.receiver import Receiver
from bestbefore.addon.hub.wire.channel import ENTRY_BYTES, SiteChannel
from bestbefore.addon.hub.wire.message import Message, Object, encode, pieces
from bestbefore.addon.hub.wire.position import ReadPosition
from bestbefore.addon.hub.wire.subscription import SubscriberKind, Subscription
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.server.embedded import server_binary
from bestbefore.addon.store.store import Store
from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.spec import make_policy
from tests.addon.store.memory_backend import open_memory_store

PAGE = Path(__file__).parents[2] / "docs" / "results" / "hub.md"
KEY = b"0123456789abcdef0123456789abcdef"
START_S = 1_706_300_000.0
FACTOR = 12.0
LENGTH_S = 1200.0
BANDWIDTH = 2000
OBJECTS, SUBSCRIBERS = 60, 20

EXPLANATION = f"""Freshness of {SUBSCRIBERS} subscribers of a [hub](../hub.md) over the first {LENGTH_S / 60:.0f} \
minutes, in which they have nothing at the start, by each scheduler. *live*: the hub's publisher, a Valkey server \
and the edges' receivers and stores in one process, with policy time {FACTOR:.0f} times faster than real time. \
*full*: the schedulers alone in a loop of events, with the bytes that the same objects have on the wire. *as \
much*: the same with only as many bytes a second as were sent live: silence of more than a second of policy time, \
in which a busy machine did something else, is not made up for. {OBJECTS} objects of 2 to 60 kB change at random; \
each subscriber wants up to 24 of them, some of which many want. The channel of {BANDWIDTH} bytes a second cannot \
carry all changes. Tests of the hub as processes are in `tests/live`."""


@dataclass(frozen=True)
class Instance:
    """What changes, and who wants what."""

    sizes: list[int]
    changes: list[tuple[float, int]]
    """Time from the start, object."""
    wanted: list[list[int]]

    @classmethod
    def of(cls, seed: int) -> "Instance":
        draw = random.Random(seed)
        sizes = [int(min(60_000, max(2000, draw.lognormvariate(9.5, 0.8)))) for _ in range(OBJECTS)]
        means_s = [draw.choice((300.0, 900.0, 2700.0)) for _ in range(OBJECTS)]
        changes = []
        for number, mean_s in enumerate(means_s):
            at_s = draw.expovariate(1.0 / mean_s)
            while at_s < LENGTH_S:
                changes.append((at_s, number))
                at_s += draw.expovariate(1.0 / mean_s)
        wanted = []
        for _ in range(SUBSCRIBERS):
            found = {int(OBJECTS * draw.random() ** 2) for _ in range(draw.randint(3, 24))}
            wanted.append(sorted(found))
        return cls(sizes, sorted(changes), wanted)


@dataclass
class Timeline:
    """When each client got which version of each object."""

    instance: Instance
    versions: list[int] = field(default_factory=lambda: [0] * OBJECTS)
    copies: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in range(SUBSCRIBERS)])
    fresh_s: list[float] = field(default_factory=lambda: [0.0] * SUBSCRIBERS)
    at_s: float = 0.0
    sent_bytes: float = 0.0

    def pass_time(self, at_s: float) -> None:
        at_s = min(at_s, LENGTH_S)
        for client, wanted in enumerate(self.instance.wanted):
            fresh = sum(self.copies[client].get(item, -1) == self.versions[item] for item in wanted)
            self.fresh_s[client] += fresh * (at_s - self.at_s)
        self.at_s = at_s

    def over_clients(self) -> float:
        shares = [fresh / len(wanted) for fresh, wanted in zip(self.fresh_s, self.instance.wanted, strict=True)]
        return sum(shares) / SUBSCRIBERS / LENGTH_S

    def over_data(self) -> float:
        return sum(self.fresh_s) / sum(map(len, self.instance.wanted)) / LENGTH_S


def version_of(number: int, version: int, size: int, now_s: float) -> tuple[Copy, bytes]:
    body = (f"{number} {version} ".encode() * size)[:size]
    reference = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), size)
    head = Head(200, Fields([("ETag", f'"{version}"')]))
    return Copy(f"http://example.org/{number}", head, reference, now_s, now_s, now_s, now_s), body


async def wire_sizes(instance: Instance, store: Store) -> list[list[int]]:
    """The bytes of the messages of each object, as the hub counts them."""
    found = []
    for number, size in enumerate(instance.sizes):
        copy, body = version_of(number, 10, size, START_S)
        carried = await packed(copy, None, store, with_body=False)
        assert carried is not None
        whole = Object(carried.copy, body, (), START_S)
        parts = [Message("hub", "all", 1 << 50, 500, (1 << 50, 499), START_S, piece) for piece in pieces(whole)]
        found.append([len(encode(part)) + 32 + ENTRY_BYTES for part in parts])
    return found


def simulated(
    instance: Instance, scheduler: str, wire: Sequence[Sequence[int]], bytes_per_s: float = BANDWIDTH
) -> Timeline:
    """The schedulers alone."""
    sizes = [HEAD_BYTES + size for size in instance.sizes]
    intervals_s = [HOUR_S] * OBJECTS
    rule = SCHEDULERS[scheduler].with_intervals(Audience([1] * OBJECTS, sizes, per_page=False), intervals_s)
    for client, wanted in enumerate(instance.wanted):
        rule.subscribe(client, wanted, 0.0)
    timeline, limit, changes, now_s = Timeline(instance), RateLimit(bytes_per_s), list(instance.changes), 0.0

    def change(until_s: float) -> None:
        while changes and changes[0][0] <= until_s:
            at_s, number = changes.pop(0)
            timeline.pass_time(at_s)
            timeline.versions[number] += 1
            intervals_s[number] = HOUR_S / (1 + timeline.versions[number])  # as `publisher.mean_interval_s`
            rule.changed(number, at_s)

    while now_s < LENGTH_S:
        item = rule.choose(now_s)
        if item is None:
            now_s = changes[0][0] if changes else LENGTH_S
            change(now_s)
            continue
        version = timeline.versions[item]
        for size in wire[item]:
            now_s += limit.wait_s(now_s)
            limit.sent(size, now_s)
            timeline.sent_bytes += size
        change(now_s)
        timeline.pass_time(now_s)
        for client, wanted in enumerate(instance.wanted):
            if item in wanted:
                timeline.copies[client][item] = version
        rule.sent(item, now_s)
        if timeline.versions[item] != version:
            rule.changed(item, now_s)
        now_s += limit.wait_s(now_s)
        change(now_s)
    timeline.pass_time(LENGTH_S)
    return timeline


async def live(instance: Instance, scheduler: str, url: str) -> Timeline:
    """The publisher, the server, and twenty readers."""
    clock = FastClock(START_S, FACTOR)
    timeline = Timeline(instance)
    stores = [await open_memory_store(clock=clock, forget_after_s=1e12) for _ in range(SUBSCRIBERS + 1)]
    connections = [Connection(url, patience_s=20.0) for _ in range(SUBSCRIBERS + 1)]
    for connection in connections:
        await connection.open()
    await connections[0].ask("FLUSHALL")
    hub = stores[-1]
    for number, size in enumerate(instance.sizes):
        await put(hub, number, 0, size, clock.now())
    await hub.flush()
    settings = HubSettings(scheduler=scheduler, bandwidth=BANDWIDTH, heartbeat=LENGTH_S, max_wait=1e9, vouch=1e9)
    registry = CollectorRegistry()
    publisher = Publisher(
        SiteChannel(connections[-1], "all"), "hub", KEY, settings, clock, hub, 1 << 20, HubMetrics(registry),
        lambda: False,
    )  # fmt: skip
    started: list[float] = []
    readers = [
        asyncio.create_task(read(client, connections[client], stores[client], clock, timeline, started))
        for client in range(SUBSCRIBERS)
    ]
    await asyncio.sleep(0.5)
    working = asyncio.create_task(publisher.run())
    while publisher.queue is None or not publisher.queue.subscriptions:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    started.append(clock.now())
    for at_s, number in instance.changes:
        await asyncio.sleep(max(0.0, clock.to_real_s(started[0] + at_s - clock.now())))
        timeline.pass_time(clock.now() - started[0])
        timeline.versions[number] += 1
        await put(hub, number, timeline.versions[number], instance.sizes[number], clock.now())
        publisher.note_contact(f"http://example.org/{number}")
    await asyncio.sleep(max(0.0, clock.to_real_s(started[0] + LENGTH_S - clock.now())))
    timeline.pass_time(LENGTH_S)
    timeline.sent_bytes = registry.get_sample_value("bestbefore_hub_sent_bytes_total") or 0.0
    for task in (working, *readers):
        task.cancel()
    await asyncio.gather(working, *readers, return_exceptions=True)
    for closing in (*connections, *stores):
        await closing.close()
    return timeline


async def put(store: Store, number: int, version: int, size: int, now_s: float) -> None:
    """The hub has fetched a version."""
    copy, body = version_of(number, version, size, now_s)
    store.put(copy, body)
    await store.learn(Observation(copy.url, now_s, "", Fingerprint(etag=f'"{version}"', body=copy.body.digest)))


async def read(
    client: int, connection: Connection, store: Store, clock: FastClock, timeline: Timeline, started: list[float]
) -> None:
    channel, policy = SiteChannel(connection, "all"), make_policy("ttl", {"alpha": 0.1})
    patterns = tuple(f"example.org/{number}" for number in timeline.instance.wanted[client])
    asked = Subscription(f"edge-{client:02}", "all", SubscriberKind.SUBSCRIBER, patterns, 1, f"{client:016}")
    await channel.subscribe(asked, KEY, 600.0)
    rules = Rules(DomainRule(Pattern.parse("*"), policy))  # type: ignore[arg-type]
    intake = Intake(store, clock, lambda: rules, 1 << 20, asked.is_wanted)
    receiver = Receiver(KEY, "all", ReadPosition("c", "0-0", "", (0, 0), 1), 1 << 21)
    while True:
        for entry in await channel.read(receiver.position.entry, 5.0):
            received = receiver.receive(entry, clock.now())
            if not isinstance(received.content, Object):
                continue
            if await intake.take(received.content, (received.channel, received.place)) == "copy":
                number, version = received.content.body.split()[:2]  # type: ignore[union-attr]
                timeline.pass_time(clock.now() - started[0])
                timeline.copies[client][int(number)] = int(version)


async def compared(url: str, seeds: Sequence[int], say: Callable[[str], None]) -> None:
    names = f"{'live':>8}{'as much':>9}{'full':>7}"
    say(f"{'scheduler':<11}{'seed':>4}{'over clients':>24}{'over objects':>24}{'kB sent':>24}")
    say(f"{'':<15}" + names * 3)
    for scheduler in ("circ", "pop", "rq", "gain"):
        for seed in seeds:
            instance = Instance.of(seed)
            store = await open_memory_store(clock=FastClock(START_S, 1.0), forget_after_s=1e12)
            wire = await wire_sizes(instance, store)
            await store.close()
            as_it_is, full = await live(instance, scheduler, url), simulated(instance, scheduler, wire)
            as_much = simulated(instance, scheduler, wire, BANDWIDTH * as_it_is.sent_bytes / full.sent_bytes)
            runs = (as_it_is, as_much, full)
            shares = [[run.over_clients() for run in runs], [run.over_data() for run in runs]]
            sent = [run.sent_bytes / 1000 for run in runs]
            cells = "".join(f"{one:>8.3f}{two:>9.3f}{three:>7.3f}" for one, two, three in shares)
            say(f"{scheduler:<11}{seed:>4}{cells}" + f"{sent[0]:>8.0f}{sent[1]:>9.0f}{sent[2]:>7.0f}")


def main() -> None:
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "s"
        command = [str(server_binary()), "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
        server: Any = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            while not socket.exists():
                time.sleep(0.01)
            asyncio.run(compared(f"unix://{socket}", (1,), say))
        finally:
            server.kill()
            server.wait()
    if "--record" in sys.argv:
        write_page(PAGE, "A hub, live and simulated", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
