"""The system clock is set back or forward under a running proxy, and later set right: nothing breaks or sticks."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from mitmproxy.connection import Client
from mitmproxy.proxy.mode_specs import ProxyMode

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

HOUR_S, DAY_S, YEAR_S = 3600.0, 86_400.0, 365 * 86_400.0
START_S = 1_767_225_600.0
HOST = "www.example.org"
CLIENT = Client(
    peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0.0, proxy_mode=ProxyMode.parse("regular")
)
MAX_TTL_S = DAY_S
"""The longest learned lifetime, by default."""


class World:
    """The right time, and an origin that lives in it: each object is updated every day at noon."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.true_s = START_S
        self.contacts: dict[str, list[float]] = defaultdict(list)
        """By path, in the right time."""

    async def passes(self, seconds: float) -> None:
        self.true_s += seconds
        self.clock.advance(seconds)
        for _ in range(5):  # what runs in the background has its turns meanwhile
            await asyncio.sleep(0)

    def respond(self, request: Request, _: float) -> tuple[Head, bytes]:
        path = request.target.path
        self.contacts[path].append(self.true_s)
        noon_s = (self.true_s - DAY_S / 2) // DAY_S * DAY_S + DAY_S / 2
        lines = [("ETag", f'"{noon_s:.0f}"')]
        if not path.startswith("/undated"):
            lines += [("Date", format_http_date(self.true_s)), ("Last-Modified", format_http_date(noon_s))]
        if path == "/max-age":
            lines.append(("Cache-Control", "max-age=7200"))
        if path == "/expires":
            lines.append(("Expires", format_http_date(self.true_s + 7200)))
        if path == "/aged":
            lines.append(("Age", "600"))
        if request.fields.get("If-None-Match") == f'"{noon_s:.0f}"':
            return Head(304, Fields(lines)), b""
        return Head(200, Fields(lines)), f"{noon_s:.0f}".encode()


PATHS = ("/dated", "/undated", "/aged", "/max-age", "/expires")
LATER = ("/dated/new", "/undated/new")
"""Those first asked for while the clock is wrong."""
LONGEST_S = {"/max-age": 7200.0, "/expires": 7200.0}
"""Those whose origin gives them a lifetime."""


@asynccontextmanager
async def proxy(world: World, where: str, state: Path) -> AsyncIterator[tuple[Exchanges, Store]]:
    """The parts of a proxy that live in its clock's time."""
    clock = world.clock
    if where == "memory":
        store = await open_memory_store(clock=clock)
    else:
        store = await open_store(where, clock=clock, state=state)
    origin = Origin(clock)
    origin.answer_for(HOST, world.respond)
    site = Site("proxy", b"salt", max_cached_body=1 << 20)
    exchanges = Exchanges(clock, store, origin, load_config(None).rules, site, lambda _: None)
    try:
        yield exchanges, store
    finally:
        await exchanges.close()
        await origin.close()
        await store.close()


async def get(exchanges: Exchanges, path: str) -> tuple[Head, bytes]:
    """One request, as the layer asks."""
    request = Request("GET", Target.parse(f"http://{HOST}{path}"))
    answer = await answer_to(request, CLIENT, exchanges)
    body = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
    answer.finish(len(body), complete=True)
    return answer.head, body


async def browse(exchanges: Exchanges, world: World, days: float, paths: Sequence[str] = PATHS) -> None:
    """Ask for everything every half hour. Whatever the clock says, no client gets a negative age."""
    until_s = world.true_s + days * DAY_S
    while world.true_s < until_s:
        for path in paths:
            head, body = await get(exchanges, path)
            assert head.status == 200
            assert body
            assert int(head.fields.get("age") or 0) >= 0
        await world.passes(HOUR_S / 2)


JUMPS: dict[str, Callable[[float], float]] = {
    "back a minute and a half": lambda now_s: now_s - 90,
    "back a day": lambda now_s: now_s - DAY_S,
    "forward a day": lambda now_s: now_s + DAY_S,
    "forward a year": lambda now_s: now_s + YEAR_S,
    "to 1970": lambda _: 30.0,
}
FAST = {("back a day", "memory"), ("forward a year", "memory")}
"""The jumps that the fast tests make."""


@pytest.mark.parametrize(
    ("jump", "where"),
    [
        pytest.param(jump, where, marks=() if (jump, where) in FAST else pytest.mark.slow)
        for jump, where in [*((jump, "memory") for jump in JUMPS), ("back a day", "embedded"), ("to 1970", "embedded")]
    ],
)
async def test_a_clock_that_jumps_keeps_no_copy_for_good(jump: str, where: str, tmp_path: Path) -> None:
    world = World(ManualClock(START_S))
    async with proxy(world, where, tmp_path) as (exchanges, store):
        await browse(exchanges, world, 4)
        world.clock.set(JUMPS[jump](world.clock.now()))
        await browse(exchanges, world, 2, PATHS + LATER)
        world.clock.set(world.true_s)
        right_since_s = world.true_s
        await browse(exchanges, world, 4, PATHS + LATER)

        for path in PATHS + LATER:
            contacts_s = [*world.contacts[path], world.true_s]
            longest_s = max(later - earlier for earlier, later in pairwise(contacts_s))
            assert longest_s <= LONGEST_S.get(path, MAX_TTL_S) + HOUR_S, path

        records = [await store.record(f"http://{HOST}{path}") for path in PATHS + LATER]
        for record in records:
            assert record is not None
            assert record.since_s <= record.last_contact_s <= world.true_s
            points_s = [update.point_s for update in record.updates]
            assert points_s == sorted(set(points_s))
            assert all(record.since_s <= point_s <= record.last_contact_s for point_s in points_s)
            assert sum(point_s > right_since_s for point_s in points_s) >= 3, "it learns again"
        counts = await store.group("all", lambda _: True)
        assert sum(counts.starts.values()) == len(records)
        assert sum(counts.updates.values()) == sum(record.n_updates for record in records if record is not None)


@pytest.mark.parametrize("where", ["memory", "embedded"])
async def test_an_invalidation_reaches_copies_stored_while_the_clock_was_ahead(where: str, tmp_path: Path) -> None:
    world = World(ManualClock(START_S + YEAR_S))
    async with proxy(world, where, tmp_path) as (exchanges, store):
        for path in PATHS:
            await get(exchanges, path)
        await store.flush()
        world.clock.set(world.true_s)
        for path in PATHS:
            await get(exchanges, path)
            await world.passes(1)
            await get(exchanges, path)
            assert len(world.contacts[path]) == 2, "validated, since its age is unknown, and then served"
            store.drop(f"http://{HOST}{path}")  # as after a POST
            await world.passes(1)
            await get(exchanges, path)
            assert len(world.contacts[path]) == 3, path
