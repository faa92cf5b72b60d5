"""Which requests wait for the contact of another, and for how long."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, Reach
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.exchange.sharing.flight import PASSED
from bestbefore.addon.proxy.exchange.sharing.hit_for_miss import REMEMBERED_S
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
PATIENCE_S = 30.0
NO_STORE, FRESH = ("Cache-Control", "no-store"), ("Cache-Control", "max-age=60")
ETAG, BY_LANGUAGE = ("ETag", '"1"'), ("Vary", "Accept-Language")
STALE = ("Cache-Control", "max-age=0")


class Origin:
    """Answers all requests that wait on a signal, and counts them."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.fields: tuple[tuple[str, str], ...] = (NO_STORE,)
        self.waiting = 0
        self.contacts = 0
        self.beyond: Reach | None = None
        """From where it cannot be reached."""
        self._answers = asyncio.Event()
        self.goes_on: asyncio.Event | None = None
        """If set, content has no length, and its second piece waits for this."""

    def answer(self) -> None:
        """Answer the requests that wait now."""
        self._answers.set()
        self._answers, self.waiting = asyncio.Event(), 0

    async def fetch(self, *_: Any, reach: Reach = EVERYWHERE, **__: Any) -> Fetched:
        self.waiting += 1
        self.contacts += 1
        await self._answers.wait()
        if reach == self.beyond:
            raise OriginError(Failure.UNREACHABLE, "out of reach")
        now_s = self._clock.now()
        head = Head(200, Fields([("Date", format_http_date(now_s)), *self.fields]))
        return Fetched(head, now_s, now_s, self._content(), 1 if self.goes_on is None else None)

    async def _content(self) -> AsyncGenerator[bytes]:
        yield b"x"
        if self.goes_on is not None:
            await self.goes_on.wait()
            yield b"y"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_S)


@pytest.fixture
def origin(clock: ManualClock) -> Origin:
    return Origin(clock)


@pytest.fixture
async def exchanges(origin: Origin, clock: ManualClock) -> AsyncIterator[Exchanges]:
    store = await open_memory_store(clock=clock)
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    yield Exchanges(clock, store, origin, load_config(None).rules, site, lambda _: None)
    await store.close()


async def settled() -> None:
    """All that can go on has done so."""
    for _ in range(50):
        await asyncio.sleep(0)


async def crowd(exchanges: Exchanges, origin: Origin, *requests: Request) -> list[int]:
    """How many of these requests, sent together, reached the origin in each of its turns."""
    asked = [asyncio.ensure_future(answer_to(request, tflow.tclient_conn(), exchanges)) for request in requests]
    turns = []
    async with asyncio.timeout(PATIENCE_S):
        while not all(task.done() for task in asked):
            await settled()
            turns.append(origin.waiting)
            origin.answer()
            await settled()
    for task in asked:
        await task.result().read()
    return turns


def request(*fields: tuple[str, str], path: str = "") -> Request:
    return Request("GET", Target.parse("http://example.org/" + path), Fields(fields))


@pytest.mark.parametrize("fields", [(NO_STORE,), (("Cache-Control", "private"),), (), (ETAG, ("Vary", "*")),
                                    (ETAG, ("Cache-Control", "no-cache"))])
async def test_requests_wait_once_for_what_cannot_be_shared_and_not_again(
    exchanges: Exchanges, origin: Origin, fields: tuple[tuple[str, str], ...]
) -> None:
    origin.fields = fields
    assert await crowd(exchanges, origin, *[request()] * 5) == [1, 4]
    assert await crowd(exchanges, origin, *[request()] * 5) == [5]
    assert await crowd(exchanges, origin, *[request(path="other")] * 2) == [1, 1]


async def test_an_api_is_learnt_from_its_first_urls(exchanges: Exchanges, origin: Origin) -> None:
    await crowd(exchanges, origin, request(path="api/1?q=1"))
    assert await crowd(exchanges, origin, *[request(path="api/1?q=2")] * 5) == [5]
    assert await crowd(exchanges, origin, *[request(path="api/2")] * 5) == [1, 4]
    await crowd(exchanges, origin, request(path="api/3"))
    assert await crowd(exchanges, origin, *[request(path="api/4")] * 5) == [5]


async def test_what_is_shareable_beside_it_causes_few_contacts_once(exchanges: Exchanges, origin: Origin) -> None:
    for number in range(3):
        await crowd(exchanges, origin, request(path=f"mixed/{number}"))
    origin.fields = (ETAG, STALE)
    assert await crowd(exchanges, origin, *[request(path="mixed/shared")] * 50) == [1 + PASSED]
    assert await crowd(exchanges, origin, *[request(path="mixed/also")] * 50) == [1]


async def test_content_that_has_begun_to_arrive_is_shared_whatever_lies_beside_it(
    exchanges: Exchanges, origin: Origin
) -> None:
    await crowd(exchanges, origin, request(path="mixed?private"))
    origin.fields, origin.goes_on = (FRESH,), asyncio.Event()
    first = asyncio.ensure_future(answer_to(request(path="mixed?shared"), tflow.tclient_conn(), exchanges))
    await settled()
    origin.answer()
    async with asyncio.timeout(PATIENCE_S):
        answers = [await first] + [
            await answer_to(request(path="mixed?shared"), tflow.tclient_conn(), exchanges) for _ in range(3)
        ]
    assert origin.contacts == 2
    origin.goes_on.set()
    for answer in answers:
        await answer.read()


async def test_a_validation_is_shared_whatever_lies_beside_it(
    exchanges: Exchanges, origin: Origin, clock: ManualClock
) -> None:
    origin.fields = (ETAG, STALE)
    await crowd(exchanges, origin, request(path="mixed?shared"))
    clock.advance(REMEMBERED_S)
    origin.fields = (NO_STORE,)
    await crowd(exchanges, origin, request(path="mixed?private"))
    origin.fields = (ETAG, STALE)
    assert await crowd(exchanges, origin, *[request(path="mixed?new")] * 5) == [5]
    clock.advance(REMEMBERED_S)
    origin.fields = (NO_STORE,)
    await crowd(exchanges, origin, request(path="mixed?private"))
    origin.fields = (ETAG, STALE)
    assert await crowd(exchanges, origin, *[request(path="mixed?shared")] * 5) == [1]


async def test_requests_wait_again_once_a_response_may_be_shared(exchanges: Exchanges, origin: Origin) -> None:
    await crowd(exchanges, origin, request())
    origin.fields = (ETAG, STALE)
    assert await crowd(exchanges, origin, *[request()] * 3) == [3]
    origin.fields = (FRESH,)
    assert await crowd(exchanges, origin, *[request()] * 3) == [1]


@pytest.mark.parametrize("fields", [(FRESH,), (ETAG, STALE)])
async def test_a_request_that_is_still_looked_up_when_the_contact_ends_makes_none(
    exchanges: Exchanges,
    origin: Origin,
    monkeypatch: pytest.MonkeyPatch,
    fields: tuple[tuple[str, str], ...],
) -> None:
    origin.fields, look_up, goes_on = fields, exchanges._store.look_up, asyncio.Event()
    first = asyncio.ensure_future(answer_to(request(), tflow.tclient_conn(), exchanges))
    await settled()

    async def slow(*given: Any, **named: Any) -> Any:
        found = await look_up(*given, **named)
        await goes_on.wait()
        return found

    monkeypatch.setattr(exchanges._store, "look_up", slow)
    second = asyncio.ensure_future(answer_to(request(), tflow.tclient_conn(), exchanges))
    await settled()
    origin.answer()
    await (await first).read()
    await settled()
    goes_on.set()
    async with asyncio.timeout(PATIENCE_S):
        assert "; collapsed" in ((await second).head.fields.get("cache-status") or "")
    assert origin.contacts == 1


@pytest.mark.parametrize("name", ["Cookie", "Authorization"])
async def test_requests_with_other_credentials_do_not_wait_for_each_other(
    exchanges: Exchanges, origin: Origin, name: str
) -> None:
    assert await crowd(exchanges, origin, *(request((name, f"id={number}")) for number in range(5))) == [5]


async def test_requests_wait_once_for_another_variant(exchanges: Exchanges, origin: Origin) -> None:
    origin.fields = (ETAG, STALE, BY_LANGUAGE)
    both = [request(("Accept-Language", language)) for language in ("de", "en")]
    assert await crowd(exchanges, origin, *both) == [1, 1]
    assert await crowd(exchanges, origin, *both, *both) == [2]


async def test_what_is_shareable_is_fetched_once_while_another_variant_is_not(
    exchanges: Exchanges, origin: Origin
) -> None:
    german, english = (request(("Accept-Language", language)) for language in ("de", "en"))
    origin.fields = (NO_STORE, BY_LANGUAGE)
    assert await crowd(exchanges, origin, german) == [1]
    origin.fields = (FRESH, BY_LANGUAGE)
    assert await crowd(exchanges, origin, *[english] * 5) == [1]


async def test_a_request_does_not_wait_for_a_response_that_does_not_come(
    exchanges: Exchanges, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bestbefore.addon.engine.sharing.PATIENCE_S", 0.01)
    asked = [asyncio.ensure_future(answer_to(request(), tflow.tclient_conn(), exchanges)) for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S):
        while origin.waiting < 2:  # noqa: ASYNC110 - the time limit is a real one
            await asyncio.sleep(0.01)
    origin.answer()
    assert [(await task).head.status for task in asked] == [200, 200]


async def test_an_object_is_refreshed_once_in_the_background_whatever_is_known_of_it(
    exchanges: Exchanges, origin: Origin
) -> None:
    origin.fields = (ETAG, ("Cache-Control", "max-age=0, stale-while-revalidate=60"))
    await crowd(exchanges, origin, request())
    contacts = origin.contacts
    for cookie in ("a", "b", "c"):
        await answer_to(request(("Cookie", cookie)), tflow.tclient_conn(), exchanges)
    await settled()
    assert origin.contacts == contacts + 1


async def test_one_of_those_that_wait_takes_over_a_contact_that_is_cancelled(
    exchanges: Exchanges, origin: Origin
) -> None:
    origin.fields = (FRESH,)
    asked = [asyncio.ensure_future(answer_to(request(), tflow.tclient_conn(), exchanges)) for _ in range(6)]
    await settled()
    asked[0].cancel()
    await settled()
    assert origin.contacts == 2
    origin.answer()
    async with asyncio.timeout(PATIENCE_S):
        assert [(await task).head.status for task in asked[1:]] == [200] * 5
    assert origin.contacts == 2


async def test_a_failure_is_shared_among_those_who_may_reach_the_same_addresses(
    exchanges: Exchanges, origin: Origin
) -> None:
    """A client of another machine does not reach an address of this one, which a client here does."""
    origin.fields, origin.beyond = (FRESH,), BEYOND_THIS_MACHINE
    remote = tflow.tclient_conn()
    remote.peername = ("198.51.100.7", 5000)
    clients = (remote, remote, *[tflow.tclient_conn() for _ in range(3)], remote)
    asked = [asyncio.ensure_future(answer_to(request(), client, exchanges)) for client in clients]
    async with asyncio.timeout(PATIENCE_S):
        for contacts in (1, 2):
            await settled()
            assert origin.contacts == contacts
            origin.answer()
        statuses = [(await task).head.status for task in asked]
    assert statuses == [502, 502, 200, 200, 200, 502]


async def test_a_copy_is_refreshed_in_the_background_although_an_older_one_is_fresh(
    exchanges: Exchanges, origin: Origin, clock: ManualClock
) -> None:
    origin.fields = (("Cache-Control", "max-age=600"), BY_LANGUAGE)
    await crowd(exchanges, origin, request(("Accept-Language", "de")))
    clock.advance(1.0)
    origin.fields = (ETAG, ("Cache-Control", "max-age=1, stale-while-revalidate=60"), ("Vary", "Accept"))
    await crowd(exchanges, origin, request(("Accept", "text/html"), ("Accept-Language", "en")))
    clock.advance(2.0)
    await answer_to(
        request(("Accept", "text/html"), ("Accept-Language", "de")), tflow.tclient_conn(), exchanges
    )
    await settled()
    assert origin.contacts == 3


@pytest.mark.parametrize("has_peers", [False, True])
async def test_what_another_process_has_stored_meanwhile_is_not_newer_by_its_own_clock(
    exchanges: Exchanges, origin: Origin, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, has_peers: bool
) -> None:
    origin.fields, store = (ETAG, STALE), exchanges._store
    await crowd(exchanges, origin, request())
    clock.advance(1.0)
    monkeypatch.setattr(store.contact_leases, "has_peers", has_peers)
    look_up = store.look_up

    async def slow(*given: Any, **named: Any) -> Any:
        found = await look_up(*given, **named)
        (copy,) = (await store.copies(request().target.url)).copies
        store.put(copy.changed(response_time_s=clock.now() + 30.0), b"x")
        return found

    monkeypatch.setattr(store, "look_up", slow)
    await crowd(exchanges, origin, request())
    assert origin.contacts == 1 + has_peers
