"""kill -9 of the proxy and of its Valkey in turn, under load: no orphan, a store that starts, and little lost.

One of each is among the fast tests. BESTBEFORE_KILL_ROUNDS says how many there are with the slow ones.
"""

import asyncio
import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.opening import open_store

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc"),
]

Start = Callable[..., Any]
ROUNDS = int(os.environ.get("BESTBEFORE_KILL_ROUNDS", "4"))
PATIENCE_S = 60.0
STILL_S = 2.0
"""For so long a busy machine may stand still, just before a kill."""
PROXY_KILL_S = 1.0
"""What a kill of the proxy may cost: a batch gathers for 0.2 s, and is written."""
VALKEY_KILL_S = 2.0
"""What a kill of the server may cost: while the disk is busy, it answers for so long before it writes."""


@dataclass(frozen=True)
class Kill:
    """What may be lost: contacts between these two moments."""

    whom: str
    at_s: float
    from_s: float
    until_s: float

    def excuses(self, contact: Any) -> bool:
        return self.from_s <= contact.at_s <= self.until_s


@pytest.mark.parametrize(
    "rounds",
    [
        range(2),
        # After every second kill of the proxy it is the next start that has to see to its server.
        pytest.param(range(2, ROUNDS), marks=pytest.mark.slow),
    ],
    ids=["once", "more"],
)
def test_kills_cost_at_most_the_last_moments_and_leave_no_orphan(
    start_proxy: Start, start_origin: Start, start_load: Start, rounds: range
) -> None:
    origin, draw = start_origin({}), random.Random(rounds.start)
    origin.serial = itertools.count(1)
    proxy = start_proxy("--quiet")
    load = start_load(origin.url, proxy.port)
    kills = []
    for load.round in rounds:
        stood_s = 0.0  # the longest that this machine stood still
        is_valkeys = load.round % 2 == 0
        # Longer than it may cost: what was learnt at its beginning must be kept.
        cost_s = VALKEY_KILL_S if is_valkeys else PROXY_KILL_S
        end = time.monotonic() + draw.uniform(0.2, 0.7) + cost_s + STILL_S
        while (begun_s := time.monotonic()) < end:
            time.sleep(0.01)
            stood_s = max(stood_s, time.monotonic() - begun_s)
        load.goes_on(10)
        (server,) = proxy.servers()
        at_s = time.time()
        if is_valkeys:
            os.kill(server, signal.SIGKILL)
            kills.append(Kill("Valkey", at_s, at_s - VALKEY_KILL_S - STILL_S - stood_s, time.time()))
            proxy.wait_for_log("the store is up again")
        else:
            proxy.stop(signal.SIGKILL)
            if load.round % 4 == 1:
                wait_until_gone(proxy)  # by itself; else the next start has to see to it
            proxy = start_proxy("--quiet")
            load.port = proxy.port
            # What the old proxy had asked for may be answered a moment after its end.
            kills.append(Kill("the proxy", at_s, at_s - PROXY_KILL_S - STILL_S - stood_s, time.time()))
        assert len(proxy.servers()) == 1
        assert "is down" not in proxy.greeting
        assert "unreadable" not in proxy.greeting
    load.goes_on()
    load.stop()
    assert load.refused == []
    assert proxy.stop() == 0
    assert proxy.servers() == []

    contacts: dict[str, list[Any]] = {}
    for contact in origin.contacts:
        contacts.setdefault(origin.url + contact.path, []).append(contact)
    records, counts = asyncio.run(kept(proxy.state, contacts))
    lost = [contact for url in contacts for contact in lost_of(contacts[url], records.get(url))]
    print(f"{len(rounds)} kills, {len(origin.contacts)} contacts, {len(lost)} lost")
    for whom in ("Valkey", "the proxy"):
        print(f"  by kills of {whom}: {cost(lost, [kill for kill in kills if kill.whom == whom])}")
    for contact in lost:
        assert any(kill.excuses(contact) for kill in kills), "lost what should have been written"
    assert_consistent(records.values(), counts)


def lost_of(contacts: Sequence[Any], record: Record | None) -> list[Any]:
    """The contacts of one object, in their order, of which its record does not tell.

    Each found an update, by the moment at which its request was sent; and was made before the next one was sent.
    """
    if record is None:
        return list(contacts)
    sent_s = [record.since_s, *(update.by_s for update in record.updates)]
    met = {next(number for number, contact in enumerate(contacts) if contact.at_s >= at_s) for at_s in sent_s}
    assert len(met) == record.contacts, "none is kept twice"
    return [contact for number, contact in enumerate(contacts) if number not in met]


def wait_until_gone(proxy: Any) -> None:
    end = time.monotonic() + PATIENCE_S
    while proxy.servers():
        assert time.monotonic() < end, "an orphan"
        time.sleep(0.005)


def cost(lost: Collection[Any], kills: Collection[Kill]) -> str:
    """How many contacts these kills have cost, and how old the oldest of them was."""
    ages_s = [kill.at_s - contact.at_s for contact in lost for kill in kills if kill.excuses(contact)]
    return f"{len(ages_s)}, the oldest {max(ages_s, default=0.0):.2f} s before the kill"


async def kept(state: Path, urls: Collection[str]) -> tuple[dict[str, Record], GroupCounts]:
    """What the store has of these objects, and what it counts of all."""
    store = await open_store("embedded", clock=RealClock(), state=state)
    try:
        records = {url: record for url in urls if (record := await store.record(url)) is not None}
        return records, await store.group("all", lambda _: True)
    finally:
        await store.close()


def assert_consistent(records: Collection[Record], counts: GroupCounts) -> None:
    """Records and counts were written together or not at all."""
    assert all(record.n_updates == record.contacts - 1 for record in records)
    members = [record for record in records if record.counted]
    assert sum(counts.starts.values()) == len(members)
    assert sum(counts.updates.values()) == sum(record.n_updates for record in members)
