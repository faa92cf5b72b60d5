"""What clients get of objects whose responses have no validator, through the whole exchange."""

import asyncio
import hashlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.engine.unvalidated.evidence import CLIENTS_NEEDED, UNSHARED_S
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
HOST = "http://example.org"


@dataclass
class World:
    """An origin without validators, a proxy before it, and the clients."""

    clock: ManualClock
    exchanges: Any = None
    records: list[Answered] = field(default_factory=list)
    page_for: Callable[[str], bytes] = lambda _: b"page"
    """The content for a client, by the user that its `X-User` names, which the proxy does not know to matter."""
    media_type: str = "text/html"
    contacts: int = 0

    async def fetch(self, request: Request, **_: Any) -> Fetched:
        self.contacts += 1
        now_s, body = self.clock.now(), self.page_for(request.fields.get("x-user") or "")
        await asyncio.sleep(0)
        fields = Fields([("Date", format_http_date(now_s)), ("Content-Type", self.media_type)])
        return Fetched(Head(200, fields), now_s, now_s, _pieces(body), len(body))

    async def get(self, address: str, *fields: tuple[str, str], path: str = "/page") -> tuple[bytes, bool]:
        """What a client gets, and whether it is a hit."""
        request = Request("GET", Target.parse(HOST + path), Fields([("X-User", address), *fields]))
        client: Any = tflow.tclient_conn()
        client.peername = (address, 1234)
        before = self.contacts
        answer = await answer_to(request, client, self.exchanges)
        body = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
        answer.finish(len(body), complete=True)
        return body, self.contacts == before


async def _pieces(body: bytes) -> AsyncGenerator[bytes]:
    yield body


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World(ManualClock(NOW_S))
    store = await open_memory_store(clock=made.clock)
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=1_000_000)
    origin: Any = made
    rules = load_config(None, {"state": "/nowhere"}).rules
    made.exchanges = Exchanges(made.clock, store, origin, rules, site, made.records.append)
    yield made
    await made.exchanges.close()
    await store.close()


@pytest.mark.parametrize("size", [100, 100_000])
async def test_a_package_is_a_hit_at_the_third_request(world: World, size: int) -> None:
    world.media_type, world.page_for = "application/gzip", lambda _: b"x" * size
    told = []
    for address in ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.1"):
        told.append((await world.get(address))[1])
        world.clock.advance(1.0)
    assert told == [False, False, True, True]
    assert [record.reason for record in world.records] == ["learning", "learned", "bootstrap", "bootstrap"]
    world.clock.advance(120.0)
    assert (await world.get("10.0.0.3"))[1] is False
    assert (world.records[-1].unnecessary, world.records[-1].stored) == (True, True)


async def test_parallel_requests_for_what_is_shared_make_one_contact(world: World) -> None:
    world.media_type = "image/png"
    for _ in range(2):
        await world.get("10.0.0.1")
        world.clock.advance(1.0)
    world.clock.advance(3600.0)
    before = world.contacts
    got = await asyncio.gather(*(world.get(f"10.0.0.{n}") for n in range(20)))
    assert {body for body, _ in got} == {b"page"}
    assert world.contacts == before + 1


async def test_parallel_requests_for_a_page_of_each_client_get_their_own(world: World) -> None:
    for n in range(12):
        await world.get(f"10.0.0.{n % 4}")
        world.clock.advance(60.0)
    world.clock.advance(3600.0)
    world.page_for = lambda user: f"page of {user}".encode()
    addresses = [f"10.0.0.{n}" for n in range(20)]
    got = await asyncio.gather(*(world.get(address) for address in addresses))
    assert [body for body, _ in got] == [f"page of {address}".encode() for address in addresses]


async def test_a_page_is_a_hit_for_its_client_and_after_three_for_all_without_cookie(world: World) -> None:
    one, two, three, four = (f"10.0.0.{n}" for n in range(1, 5))
    for _ in range(3):
        assert (await world.get(one))[1] is False
        world.clock.advance(40.0)
    assert [(await world.get(address))[1] for address in (one, two, one)] == [True, False, True]
    assert [record.reason for record in world.records[2:4]] == ["learned-for-client", "bootstrap"]
    world.clock.advance(1.0)
    assert [(await world.get(address))[1] for address in (three, four, one, two)] == [False, True, True, True]
    assert (await world.get(four, ("Cookie", "a=1")))[1] is False
    assert (await world.get(four, ("Authorization", "Basic eDp5")))[1] is False


async def test_a_page_of_each_client_is_never_sent_to_another(world: World) -> None:
    world.page_for = lambda user: f"page of {user}".encode()
    for _ in range(60):
        for n in range(4):
            address = f"10.0.0.{n}"
            assert (await world.get(address))[0] == f"page of {address}".encode()
        world.clock.advance(7.0)


@pytest.mark.parametrize("seed", range(4))
async def test_shared_content_went_to_three_clients_and_none_is_shared_after_a_difference(
    world: World, seed: int
) -> None:
    """Whoever asks for whatever, when: a client is sent its own content, or what three clients were sent.

    Some of the time all clients have the same page, and some of the time each its own.
    """
    chance = random.Random(seed)
    salt, personal = 0, False

    def page_for(user: str) -> bytes:
        return hashlib.sha256(f"{salt} {user if personal else ''}".encode()).digest()

    world.page_for = page_for
    sent: dict[bytes, set[str]] = {}
    """By content: the clients to which the origin sent it."""
    difference_s, hits, shared = -UNSHARED_S, 0, 0
    for _ in range(300):
        if chance.random() < 0.02:
            salt, personal = chance.randrange(3), chance.random() < 0.5
        address = f"10.0.0.{chance.randrange(5)}"
        body, hit = await world.get(address, *([("Cache-Control", "no-cache")] if chance.random() < 0.1 else []))
        now_s = world.clock.now()
        if hit:
            own = address in sent[body]
            hits, shared = hits + 1, shared + (not own)
            assert own or (len(sent[body]) >= CLIENTS_NEEDED and now_s >= difference_s + UNSHARED_S)
        else:
            record = await world.exchanges._store.record(f"{HOST}/page")
            difference_s = difference_s if record.differed_s is None else record.differed_s
            sent.setdefault(body, set()).add(address)
        world.clock.advance(chance.choice([0.5, 5.0, 30.0, 90.0, 2000.0]))
    assert hits > shared > 0
