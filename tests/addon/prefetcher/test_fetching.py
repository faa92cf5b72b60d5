"""Fetches from a real origin on loopback, through the real engine and store."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.site import Site
from bestbefore.addon.prefetcher import fetching
from bestbefore.addon.prefetcher.due_jobs import Job
from bestbefore.addon.prefetcher.fetching import Fetcher
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import BUDGET_SPENT
from bestbefore.addon.prefetcher.watching import Watched
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
UPDATED_S = NOW_S - 600.0
SETTINGS = PrefetchSettings(enabled=True, robots=False, user_agent="bestbefore/test")

type Respond = Callable[[str], bytes]


@dataclass
class Asked:
    """An origin: what it was asked, and how it answers a path."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    respond: Respond = lambda _: b""
    hangs: bool = False
    """Whether it waits for its client to go, after what it answers."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(self.respond(head.split(" ")[1]))
        with suppress(ConnectionError):  # who reads no further
            await writer.drain()
        if self.hangs:
            await reader.read()
        writer.close()


def answer(status: str, *lines: str, body: str = "") -> bytes:
    head = [
        f"HTTP/1.1 {status}",
        f"Date: {format_http_date(NOW_S)}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *lines,
    ]
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


@pytest.fixture
async def site() -> AsyncIterator[Asked]:
    made = Asked()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
    await server.wait_closed()


@dataclass
class World:
    """All that a fetch needs."""

    clock: ManualClock
    store: Store
    origin: Origin
    exchanges: Exchanges
    politeness: Politeness
    told: list[Any]

    def fetcher(self, settings: PrefetchSettings = SETTINGS) -> Fetcher:
        metrics = PrefetchMetrics(CollectorRegistry())
        watched = Watched(settings.watched)
        return Fetcher(self.clock, self.store, self.exchanges, self.origin, self.politeness, settings, metrics, watched)

    async def keep(self, url: str, *fields: tuple[str, str], range_: str = "loopback", **known: Any) -> None:
        """Store a copy, learnt of twice a while ago."""
        then_s = NOW_S - 3600.0
        for t_s in (then_s - 3600.0, then_s):
            fingerprint = Fingerprint(etag='"old"', last_modified_s=NOW_S - 86_400.0)
            await self.store.learn(Observation(url, t_s, "", fingerprint))
        head = Head(200, Fields([("Date", format_http_date(then_s)), ("ETag", '"old"'), *fields]))
        known = {"range": range_, "local": range_ == "loopback"} | known
        self.store.put(Copy(url, head, BodyRef("d", 3), then_s, then_s, then_s, then_s, **known), b"old")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = ManualClock(NOW_S)
    store = await open_memory_store(clock=clock)
    politeness = Politeness(2.0, 1, np.random.default_rng(1))
    origin = Origin(
        clock,
        on_answer=lambda host, head: politeness.answered(
            registrable_domain(host), head.status, head.fields.first("retry-after"), clock.now()
        ),
    )
    told: list[Any] = []
    rules = load_config(None, {"state": "/nowhere"}).rules
    exchanges = Exchanges(
        clock, store, origin, rules, Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000), told.append
    )
    yield World(clock, store, origin, exchanges, politeness, told)
    await exchanges.close()
    await origin.close()
    await store.close()


def job(url: str, *asked_from: str) -> Job:
    return Job(url, NOW_S, NOW_S, asked_from)


async def allowed() -> bool:
    return True


async def test_what_has_changed_is_stored_learnt_and_recorded_as_background(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    modified = f"Last-Modified: {format_http_date(UPDATED_S)}"
    site.respond = lambda _: answer("200 OK", 'ETag: "new"', modified, body="new")
    await world.keep(url)
    fetcher = world.fetcher()
    done = await fetcher.fetch(job(url, "loopback"), allowed)
    assert (done.outcome, done.retry_s) == ("updated", None)
    (copy,) = (await world.store.copies(url)).copies
    assert (copy.head.fields.get("etag"), await world.store.body(copy)) == ('"new"', b"new")
    record = await world.store.record(url)
    assert record is not None
    assert [update.by_s for update in record.updates] == [UPDATED_S]
    (told,) = world.told
    assert (told.background, told.contact, told.update, told.client) == (True, True, True, "")
    assert fetcher.metrics._delay.collect()[0].samples[-2].value == 600.0
    (head,) = site.heads
    assert 'If-None-Match: "old"' in head
    assert "User-Agent: bestbefore/test" in head


async def test_what_has_not_changed_is_renewed(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    site.respond = lambda _: answer("304 Not Modified", 'ETag: "old"')
    await world.keep(url)
    assert (await world.fetcher().fetch(job(url, "loopback"), allowed)).outcome == "unchanged"
    (copy,) = (await world.store.copies(url)).copies
    assert copy.current_s == NOW_S
    assert copy.expiry_s is not None
    assert copy.expiry_s > NOW_S


@pytest.mark.parametrize("status", ["403 Forbidden", "429 Too Many Requests", "503 Service Unavailable"])
async def test_a_refusal_leaves_the_copy_as_it_is_and_is_obeyed(world: World, site: Asked, status: str) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    site.respond = lambda _: answer(status, "Retry-After: 3600", "Cache-Control: max-age=60", body="no")
    await world.keep(url)
    assert (await world.fetcher().fetch(job(url, "loopback"), allowed)).outcome == "refused-by-origin"
    (copy,) = (await world.store.copies(url)).copies
    assert copy.head.fields.get("etag") == '"old"'
    assert (world.politeness.wait_s("127.0.0.1", NOW_S) >= 3600.0) == (status[:3] in {"429", "503"})


async def test_a_temporary_redirect_is_recorded_as_one(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    site.respond = lambda _: answer("302 Found", "Location: /login")
    await world.keep(url)
    assert (await world.fetcher().fetch(job(url, "loopback"), allowed)).outcome == "redirected"
    assert [told.outcome for told in world.told] == ["passed-on"]


async def test_an_origin_that_refuses_connections_pauses_the_domain(world: World, site: Asked) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/page"
        await world.keep(url)
        assert (await world.fetcher().fetch(job(url, "loopback"), allowed)).outcome == "unanswered"
    assert world.politeness.wait_s("127.0.0.1", NOW_S) >= 30.0


async def test_what_a_client_has_asked_since_need_not_be(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    await world.keep(url)
    late = Job(url, NOW_S, NOW_S - 7200.0, ("loopback",))  # its last contact was an hour ago
    assert (await world.fetcher().fetch(late, allowed)).outcome == "not-needed"
    assert site.heads == []


async def test_an_answer_that_does_not_end_is_given_up(
    world: World, site: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FETCH_S", 0.2)
    url = f"http://127.0.0.1:{site.port}/page"
    site.hangs = True
    site.respond = lambda _: answer("200 OK", 'ETag: "new"').replace(b"Content-Length: 0", b"Content-Length: 9")
    await world.keep(url)
    fetcher = world.fetcher()
    assert (await fetcher.fetch(job(url, "loopback"), allowed)).outcome == "too-slow"
    assert fetcher.is_excluded(url)
    (copy,) = (await world.store.copies(url)).copies
    assert copy.head.fields.get("etag") == '"old"'


async def test_what_is_too_large_to_be_stored_is_not_read_to_its_end_and_not_asked_for_again(
    world: World, site: Asked
) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    site.respond = lambda _: answer("200 OK", 'ETag: "new"').replace(b"Content-Length: 0", b"X: y") + bytes(30_000_000)
    await world.keep(url)
    fetcher = world.fetcher()
    assert (await fetcher.fetch(job(url, "loopback"), allowed)).outcome == "too-large"
    assert fetcher.is_excluded(url)
    (told,) = world.told
    assert told.received_bytes < 3_000_000
    (copy,) = (await world.store.copies(url)).copies
    assert copy.head.fields.get("etag") == '"old"'


async def test_redirects_are_not_followed(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    site.respond = lambda _: answer("302 Found", f"Location: http://127.0.0.1:{site.port}/admin")
    await world.keep(url)
    await world.fetcher().fetch(job(url, "loopback"), allowed)
    assert [head.split(" ")[1] for head in site.heads] == ["/page"]


async def test_what_has_no_copy_is_planned_for_again_when_it_has_one(world: World, site: Asked) -> None:
    """As after a site had sent everybody to its page on maintenance, for a minute."""
    url = f"http://127.0.0.1:{site.port}/page"
    fetcher = world.fetcher()
    assert (await fetcher.fetch(job(url, "loopback"), allowed)).outcome == "no-copy"
    assert fetcher.is_excluded(url)
    assert fetcher.contacted(url)
    assert not fetcher.is_excluded(url)
    assert not fetcher.contacted(url)


async def test_a_name_that_leads_to_this_machine_by_now_gets_nothing(
    world: World, site: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its copy came from a public address; its owner has changed the name since, to have a service here asked."""
    real = socket.getaddrinfo

    def resolved(host: str, port: int, *args: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == "rebound.example" else host, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    site.respond = lambda _: answer("200 OK", 'ETag: "secret"', body="secret")
    url = f"http://rebound.example:{site.port}/admin"
    await world.keep(url, range_="")
    for asked_from in ((), ("loopback",), ("10.0.0.0/8",)):
        assert (await world.fetcher().fetch(job(url, *asked_from), allowed)).outcome == "unanswered"
    assert site.heads == []
    (copy,) = (await world.store.copies(url)).copies
    assert copy.head.fields.get("etag") == '"old"'
    # And this machine's own clients, who may go there, are no worse off for having been there.
    await world.keep(url, range_="loopback")
    assert (await world.fetcher().fetch(job(url, "loopback"), allowed)).outcome == "updated"
    assert len(site.heads) == 1


async def test_what_only_a_client_elsewhere_asked_for_is_not_fetched_from_here(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    await world.keep(url)
    fetcher = world.fetcher()
    for asked_from in ((), ("10.0.0.0/8",)):
        assert (await fetcher.fetch(job(url, *asked_from), allowed)).outcome == "private-address"
    assert site.heads == []
    assert fetcher.is_excluded(url)
    world.clock.advance(90_000.0)
    assert not fetcher.is_excluded(url)


async def test_what_was_fetched_for_one_person_is_not(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    await world.keep(url, fetched_with_cookie=True)
    assert (await world.fetcher().fetch(job(url, "loopback"), allowed)).outcome == "personal"
    assert (await world.fetcher().fetch(job(url + "2", "loopback"), allowed)).outcome == "no-copy"
    assert site.heads == []


async def test_nothing_is_contacted_when_the_budget_is_spent(world: World, site: Asked) -> None:
    url = f"http://127.0.0.1:{site.port}/page"
    await world.keep(url)

    async def spent() -> bool:
        return False

    for settings in (SETTINGS, PrefetchSettings(enabled=True)):
        done = await world.fetcher(settings).fetch(job(url, "loopback"), spent)
        assert (done.outcome, done.retry_s) == (BUDGET_SPENT, 0.0)
    assert site.heads == []


async def test_robots_txt_is_read_first_and_obeyed(world: World, site: Asked) -> None:
    pages = {
        "/robots.txt": answer("200 OK", body="User-agent: *\nDisallow: /private"),
        "/page": answer("304 Not Modified", 'ETag: "old"'),
    }
    site.respond = lambda path: pages[path]
    base = f"http://127.0.0.1:{site.port}"
    for path in ("/page", "/private"):
        await world.keep(base + path)
    fetcher = world.fetcher(PrefetchSettings(enabled=True))
    first = await fetcher.fetch(job(base + "/page", "loopback"), allowed)
    assert (first.outcome, first.retry_s) == ("robots-read", 2.0)
    assert (await fetcher.fetch(job(base + "/page", "loopback"), allowed)).outcome == "unchanged"
    assert (await fetcher.fetch(job(base + "/private", "loopback"), allowed)).outcome == "robots"
    assert [head.split(" ")[1] for head in site.heads] == ["/robots.txt", "/page"]
    world.clock.advance(7200.0)
    assert fetcher.is_excluded(base + "/private")


@pytest.mark.parametrize(("status", "fetched"), [("404 x", True), ("301 x", True), ("500 x", False), ("429 x", False)])
async def test_a_robots_txt_that_is_not_there_rules_nothing_and_one_that_fails_everything(
    world: World, site: Asked, status: str, fetched: bool
) -> None:
    site.respond = lambda path: answer(status) if path == "/robots.txt" else answer("304 Not Modified", 'ETag: "old"')
    url = f"http://127.0.0.1:{site.port}/page"
    await world.keep(url)
    fetcher = world.fetcher(PrefetchSettings(enabled=True))
    await fetcher.fetch(job(url, "loopback"), allowed)
    done = await fetcher.fetch(job(url, "loopback"), allowed)
    assert done.outcome == ("unchanged" if fetched else "robots")
    assert fetched or done.trouble == f"robots.txt was not available (status {status[:3]})"
    assert fetcher.is_excluded(url) is not fetched
    world.clock.advance(3601.0)
    assert not fetcher.is_excluded(url)


async def test_an_endless_robots_txt_ends(world: World, site: Asked) -> None:
    site.respond = lambda _: answer("200 OK").replace(b"Content-Length: 0", b"X: y") + b"Disallow: /x\n" * 100_000
    url = f"http://127.0.0.1:{site.port}/page"
    await world.keep(url)
    done = await world.fetcher(PrefetchSettings(enabled=True)).fetch(job(url, "loopback"), allowed)
    assert done.outcome == "robots-read"


async def test_why_no_robots_txt_was_read_is_told(world: World, site: Asked) -> None:
    site.respond = lambda _: b""
    url = f"http://127.0.0.1:{site.port}/feed.xml"
    fetcher = world.fetcher(PrefetchSettings(enabled=True, watch=(url,)))
    await fetcher.fetch(job(url, ""), allowed)
    done = await fetcher.fetch(job(url, ""), allowed)
    assert (done.outcome, done.trouble) == (
        "robots", "robots.txt was not available (the origin closed the connection early)",
    )  # fmt: skip
