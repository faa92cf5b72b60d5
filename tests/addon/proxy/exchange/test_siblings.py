"""What one client's contact with a page of a site changes for the others, through the whole exchange."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.baselines.fixed import Fixed
from bestbefore.policies.validation.machinery.bounds import Bounded
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
A, B = "http://example.org/news/a", "http://www.example.org/news/b"


@dataclass
class World:
    """An origin whose pages change together, and a proxy before it."""

    clock: ManualClock
    changed_s: float = NOW_S - 86_400.0
    fields: tuple[tuple[str, str], ...] = ()
    tells_times: bool = True
    exchanges: Any = None
    store: Any = None
    records: list[Answered] = field(default_factory=list)

    async def fetch(self, request: Request, **_: Any) -> Fetched:
        now_s, tag = self.clock.now(), f'"{self.changed_s}"'
        fields = Fields((("Date", format_http_date(now_s)), ("ETag", tag), *self.fields))
        if self.tells_times:
            fields = fields.added(("Last-Modified", format_http_date(self.changed_s)))
        status = 304 if request.fields.get("if-none-match") == tag else 200
        body = b"" if status == 304 else str(self.changed_s).encode()
        return Fetched(Head(status, fields), now_s, now_s, _content(body), len(body))

    async def get(self, url: str, *fields: tuple[str, str]) -> Answered:
        request = Request("GET", Target.parse(url), Fields(fields))
        answer = await answer_to(request, tflow.tclient_conn(), self.exchanges)
        size = len(answer.body) if answer.chunks is None else sum([len(chunk) async for chunk in answer.chunks])
        answer.finish(size, complete=True)
        return self.records[-1]

    async def changes(self) -> None:
        """Both pages are stored, then change."""
        for url in (A, B):
            await self.get(url)
        self.clock.advance(60.0)
        self.changed_s = self.clock.now()
        self.clock.advance(60.0)


async def _content(body: bytes) -> AsyncGenerator[bytes]:
    yield body


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World(ManualClock(NOW_S))
    store = made.store = await open_memory_store(clock=made.clock)
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=1_000_000)
    origin: Any = made
    rules = Rules(DomainRule(Pattern.parse("*"), Bounded(Fixed(HOUR_S), siblings=0.05)))
    made.exchanges = Exchanges(made.clock, store, origin, rules, site, made.records.append)
    yield made
    await made.exchanges.close()
    await store.close()


type Pair = tuple[str, str] | tuple[()]
RELOAD, PUBLIC, MAX_AGE = (("Cache-Control", value) for value in ("no-cache", "public", "max-age=5"))
COOKIE, SETS_COOKIE, CREDENTIALS = ("Cookie", "a=1"), ("Set-Cookie", "a=2"), ("Authorization", "Basic eDp5")


async def test_a_page_found_changed_makes_the_next_request_of_its_sibling_a_validation(world: World) -> None:
    await world.changes()
    assert (await world.get(B)).outcome is Outcome.HIT
    await world.get(A, RELOAD)
    found = await world.get(B)
    assert (found.outcome, found.because) == (Outcome.UPDATED, A)
    again = await world.get(B)
    assert (again.outcome, again.because) == (Outcome.HIT, "")


@pytest.mark.parametrize(
    ("sent", "received"), [((), ()), (CREDENTIALS, PUBLIC), (COOKIE, PUBLIC)], ids=str
)
async def test_what_is_for_all_tells_others(world: World, sent: Pair, received: Pair) -> None:
    assert (await after_three_changes(world, "http", sent, received)).outcome is Outcome.UPDATED


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("sent", "received"),
    [(CREDENTIALS, MAX_AGE), (COOKIE, ()), (COOKIE, MAX_AGE), ((), SETS_COOKIE), (COOKIE, SETS_COOKIE)],
    ids=str,
)
async def test_what_is_or_may_be_for_one_client_tells_others_nothing(
    world: World, scheme: str, sent: Pair, received: Pair
) -> None:
    assert (await after_three_changes(world, scheme, sent, received)).outcome is Outcome.HIT
    assert world.store.sites.waiting + len(world.store.sites._sites) == 0, "nor is anything kept or published"


async def after_three_changes(world: World, scheme: str, sent: Pair, received: Pair) -> Answered:
    """One client gets a page at each of its changes; return how another then gets the sibling, stored before."""
    await world.get(B)
    world.fields = (received,) if received else ()
    for _ in range(3):
        await world.get(A.replace("http", scheme), *((sent,) if sent else ()), RELOAD)
        world.clock.advance(60.0)
        world.changed_s = world.clock.now()
        world.clock.advance(60.0)
    return await world.get(B)


async def test_entity_tags_alone_tell_nothing(world: World) -> None:
    world.tells_times = False
    await world.changes()
    await world.get(A, RELOAD)
    assert (await world.get(B)).outcome is Outcome.HIT


async def test_a_lifetime_of_the_origin_is_obeyed(world: World) -> None:
    world.fields = (("Cache-Control", "max-age=3600"),)
    await world.changes()
    await world.get(A, RELOAD)
    assert (await world.get(B)).outcome is Outcome.HIT


async def test_a_purge_keeps_what_was_learnt_and_forgetting_does_not(world: World) -> None:
    await world.changes()
    await world.get(A, RELOAD)
    sites = world.store.sites
    await world.store.purge("http://example.org/*")
    assert sites.waiting + len(sites._sites) > 0
    await world.store.forget("http://example.org/*")
    assert sites.waiting + len(sites._sites) == 0
    assert (await world.get(B)).outcome is Outcome.HIT
