"""The whole at work: a real proxy process learns from a real origin that plays recorded updates in compressed time."""

import asyncio
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.clock import FastClock
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.opening import open_store

pytestmark = pytest.mark.live

START_S = 1_706_227_200.0
FACTOR = 60_000
OBJECTS = ("/ipr/57", "/cft/86", "/legislators/247", "/ipr/285")
PATIENCE_S = 60.0
DAYS_EACH_HALF = 4
LAG_S = 3600.0


def synchronise(origin: Any, proxy: Any) -> None:
    """Let the origin live in the proxy's policy time, a little behind.

    The two clocks cannot be set to the millisecond, which is a minute here, and a Last-Modified in the proxy's future
    would not be believed. An origin that is behind is no trouble: its Date tells.
    """
    reached_s, at = proxy.policy_time_s() - LAG_S, time.monotonic()
    origin.now = lambda: reached_s + FACTOR * (time.monotonic() - at)


def twice(proxy: Any, url: str) -> Iterator[tuple[bytes, bytes]]:
    """The heads and contents of the answers to two requests that are sent at once.

    The second is looked up when the first is answered: on a busy machine, too, the copy is no older than that takes.
    """
    lines = f"GET {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n".encode()
    with socket.create_connection(("127.0.0.1", proxy.port), PATIENCE_S) as client:
        client.sendall(lines + b"\r\n" + lines + b"Connection: close\r\n\r\n")
        with client.makefile("rb") as answers:
            rest = answers.read()
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE)
        assert length is not None, head
        yield head, rest[: int(length[1])]
        rest = rest[int(length[1]) :]


def browse(proxy: Any, origin: Any, days: float) -> Counter[str]:
    """A client that asks for all objects in turn for so many days of policy time; counts what it was told."""
    told: Counter[str] = Counter()
    until_s, end = origin.now() + days * 86400, time.monotonic() + PATIENCE_S
    # Copies age by a minute in each millisecond, and a busy machine lets the proxy wait for some dozens at times.
    while origin.now() < until_s or (not told["hits"] and time.monotonic() < end):
        for path in OBJECTS:
            answers = list(twice(proxy, origin.url + path))
            assert len(answers) == 2
            for head, content in answers:
                assert head.startswith(b"HTTP/1.1 200 ")
                assert content.startswith(f"{path} version ".encode())
                told["hits" if b"; hit" in head else "contacts"] += 1
                told["304" if b"fwd-status=304" in head else "other"] += 1
        time.sleep(0.02)  # a pause between two looks, as clients make: 20 minutes of policy time
    return told


async def records(state: Path, urls: Sequence[str]) -> list[Record | None]:
    """What the store in this folder has learnt."""
    clock = FastClock(START_S, FACTOR)
    store = await open_store(
        "embedded", clock=clock, state=state, clock_mark="accelerated", join=True
    )
    try:
        return [await store.record(url) for url in urls]
    finally:
        await store.close()


@pytest.mark.slow
def test_it_caches_validates_learns_and_remembers_across_a_restart(
    start_proxy: Callable[..., Any],
    start_origin: Callable[..., Any],
    recorded_updates: Mapping[str, Sequence[float]],
    tmp_path: Path,
) -> None:
    state, config = tmp_path / "state", tmp_path / "proxy.toml"
    config.write_text('[proxy]\nkeep = "1000d"\n')  # 7 d are 10 s, in which a busy machine may not start one
    origin = start_origin({path: recorded_updates[path] for path in OBJECTS})

    proxy = start_proxy("--config", str(config), state=state, env={"BESTBEFORE_CLOCK": f"{START_S},{FACTOR}"})
    assert "BESTBEFORE_CLOCK" in proxy.greeting
    synchronise(origin, proxy)
    told = browse(proxy, origin, DAYS_EACH_HALF)
    assert proxy.stop() == 0
    assert "hits" in proxy.output()
    before_restart = len(origin.contacts)

    proxy = start_proxy("--config", str(config), state=state, env={"BESTBEFORE_CLOCK": f"{origin.now()},{FACTOR}"})
    synchronise(origin, proxy)
    first = proxy.get(origin.url + OBJECTS[0])
    assert "fwd=uri-miss" not in first.cache_status, "the copies have survived the restart"
    told["hits" if first.is_hit else "contacts"] += 1
    told["304" if "fwd-status=304" in first.cache_status else "other"] += 1
    told += browse(proxy, origin, DAYS_EACH_HALF)
    assert proxy.stop() == 0

    contacts = origin.contacts
    assert len(contacts) > before_restart > len(OBJECTS)
    assert told["contacts"] == len(contacts), "a hit never contacts the origin, all else does once"
    assert told["304"] == sum(contact.status == 304 for contact in contacts) > 0
    assert told["hits"] > 0
    for path in OBJECTS:
        later = [contact for contact in contacts if contact.path == path][1:]
        assert all("if-none-match" in contact.fields for contact in later), "each is fetched once, then validated"

    found = asyncio.run(records(state, [origin.url + path for path in OBJECTS]))
    for path, record in zip(OBJECTS, found, strict=True):
        assert record is not None
        mine = [contact for contact in contacts if contact.path == path]
        assert record.contacts == len(mine)
        assert record.unchanged == sum(contact.status == 304 for contact in mine)
        changes = [new.version for old, new in pairwise(mine) if new.version != old.version]
        assert changes, f"{path} was updated while it was watched"
        # Last-Modified tells the latest update exactly; those between two contacts that it hides stay unknown.
        times = [origin.updates[path][version - 1] for version in changes]
        assert [update.point_s for update in record.updates] == times
        assert all(update.exact for update in record.updates)
