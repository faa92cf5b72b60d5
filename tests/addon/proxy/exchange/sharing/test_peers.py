"""Two processes on a store share contacts, where two requests of one process would."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import FastClock, RealClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.exchange.sharing import peers as module
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.conditional import ranges
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.opening import open_store
from tests.addon.proxy.exchange.asking import answer_to

FRESH, STALE = [("Cache-Control", "max-age=60")], [("Cache-Control", "max-age=0"), ("ETag", '"1"')]
PRIVATE, NO_STORE = [("Cache-Control", "private, max-age=60")], [("Cache-Control", "no-store")]
BY_LANGUAGE = [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]
CONTENT = bytes(range(100))
ENGLISH, GERMAN = ("Accept-Language", "en"), ("Accept-Language", "de")
RANGE = ("Range", "bytes=10-19")
PATIENCE_S = 60.0


class Origin:
    """Answers after a while, and counts its contacts."""

    def __init__(self) -> None:
        self.fields = FRESH
        self.contacts = 0
        self.awaited_by: list[Exchanges] = []
        """Processes of which one waits before it answers; if empty, it answers whoever waits."""
        self.content_s = 0.0
        """How long the second half of the content takes."""
        self.supports_ranges = True
        self.began = False
        """Whether content has been read."""

    async def fetch(self, request: Request, **_: Any) -> Fetched:
        self.contacts += 1
        async with asyncio.timeout(PATIENCE_S):
            while self.awaited_by and not self._is_awaited():  # noqa: ASYNC110 - nothing says when
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        now_s = RealClock().now()
        fields = Fields([("Date", format_http_date(now_s)), *self.fields])
        with_length = Head(200, fields.added(("Content-Length", str(len(CONTENT)))))
        part = ranges.part(request, with_length) if self.supports_ranges else None
        if part is None:
            return Fetched(Head(200, fields), now_s, now_s, self._content(CONTENT), None)
        (span,) = part.pieces
        assert isinstance(span, ranges.Span)
        content = CONTENT[span.start : span.end]
        return Fetched(part.head, now_s, now_s, self._content(content), len(content))

    def _is_awaited(self) -> bool:
        return any(one._store.contact_leases._waiters for one in self.awaited_by)

    async def _content(self, content: bytes) -> Any:
        self.began = True
        yield content[:1]
        await asyncio.sleep(self.content_s)
        yield content[1:]


@pytest.fixture
def origin() -> Origin:
    return Origin()


@pytest.fixture
async def processes(origin: Origin, valkey: Any) -> AsyncIterator[list[Exchanges]]:
    clock, site, rules = (
        RealClock(),
        Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000),
        load_config(None).rules,
    )
    stores = [await open_store(valkey.url, clock=clock) for _ in range(2)]
    yield [Exchanges(clock, store, origin, rules, site, lambda _: None) for store in stores]
    for store in stores:
        await store.close()


async def crowd(processes: list[Exchanges], *fields: tuple[tuple[str, str], ...]) -> list[str]:
    """The Cache-Status of requests with these fields, sent together to the processes in turn."""
    return [answer.head.fields.get("cache-status") or "" for answer, _ in await answers(processes, *fields)]


async def answers(processes: list[Exchanges], *fields: tuple[tuple[str, str], ...]) -> list[tuple[Answer, bytes]]:
    """The answers to such requests, with their content."""
    target = Target.parse("http://example.org/")
    asked = [
        answer_to(Request("GET", target, Fields(own)), tflow.tclient_conn(), processes[i % len(processes)])
        for i, own in enumerate(fields)
    ]
    found = []
    for answer in await asyncio.gather(*asked):
        content = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
        answer.finish(len(content), complete=True)
        found.append((answer, content))
    return found


async def test_one_contact_for_all(processes: list[Exchanges], origin: Origin) -> None:
    origin.awaited_by = processes
    for origin.fields in (FRESH, STALE):
        origin.contacts = 0
        found = await crowd(processes, *[()] * 8)
        assert origin.contacts == 1
        assert sum("; collapsed" in one for one in found) == 7
        await asyncio.gather(*(one._store.purge("http://example.org/") for one in processes))


def set_ahead(process: Exchanges, by_s: float) -> None:
    clock = FastClock(RealClock().now() + by_s, 1.0)
    process._clock, process._joiner = clock, replace(process._joiner, clock=clock)


@pytest.mark.parametrize("ahead_s", [-5.0, 5.0])
async def test_one_contact_for_all_where_clocks_differ_by_seconds(
    processes: list[Exchanges], origin: Origin, ahead_s: float
) -> None:
    set_ahead(processes[1], ahead_s)
    origin.awaited_by = processes
    for origin.fields in (FRESH, STALE):
        origin.contacts = 0
        found = await crowd(processes, *[()] * 8)
        assert origin.contacts == 1
        assert sum("; collapsed" in one for one in found) == 7
        await asyncio.gather(*(one._store.purge("http://example.org/") for one in processes))


async def test_a_response_that_began_before_a_request_does_not_answer_it_without_a_lifetime(
    processes: list[Exchanges], origin: Origin
) -> None:
    origin.fields, origin.content_s = STALE, 0.3
    first = asyncio.ensure_future(answers(processes[:1], ()))
    while not origin.began:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    (late,) = await crowd(processes[1:], ())
    assert "; collapsed" not in late
    await first
    assert origin.contacts == 2


@pytest.mark.parametrize("fields", [PRIVATE, NO_STORE])
async def test_what_cannot_be_shared_is_fetched_by_each(
    processes: list[Exchanges], origin: Origin, fields: list[tuple[str, str]]
) -> None:
    origin.fields = fields
    await crowd(processes, (), ())
    assert origin.contacts == 2


@pytest.mark.parametrize("own", [("Cookie", "a=1"), ("Authorization", "Basic eDp5"), ("Cache-Control", "no-cache")])
async def test_requests_of_their_own_wait_for_no_other_process(
    processes: list[Exchanges], origin: Origin, own: tuple[str, str]
) -> None:
    await crowd(processes, (own, RANGE), (own, RANGE))
    await crowd(processes, (own,), (own,))
    assert origin.contacts == 4


@pytest.mark.parametrize("fields", [FRESH, STALE, [("Cache-Control", "max-age=60"), ("ETag", '"1"')]])
async def test_one_contact_for_all_who_ask_for_the_same_range(
    processes: list[Exchanges], origin: Origin, fields: list[tuple[str, str]]
) -> None:
    origin.fields, origin.awaited_by = fields, processes
    for number, (wanted, there) in enumerate(((RANGE, CONTENT[10:20]), (("Range", "bytes=15-29"), CONTENT[15:30]))):
        found = await answers(processes, *[(wanted,)] * 8)
        assert origin.contacts == number + 1
        assert [(answer.head.status, content) for answer, content in found] == [(206, there)] * 8
        assert sum("; collapsed" in (answer.head.fields.get("cache-status") or "") for answer, _ in found) == 7


async def test_a_range_that_no_other_process_could_store_is_fetched_by_each(
    processes: list[Exchanges], origin: Origin
) -> None:
    origin.fields = NO_STORE
    await crowd(processes, (RANGE,), (RANGE,))
    assert origin.contacts == 2


async def test_different_ranges_wait_for_no_other_process(processes: list[Exchanges], origin: Origin) -> None:
    await crowd(processes, (RANGE,), (("Range", "bytes=50-59"),), ())
    assert origin.contacts == 3


async def test_an_origin_without_ranges_is_contacted_once_for_all(processes: list[Exchanges], origin: Origin) -> None:
    origin.supports_ranges, origin.awaited_by = False, processes
    found = await answers(processes, (RANGE,), (RANGE,))
    assert origin.contacts == 1
    assert sorted(answer.head.status for answer, _ in found) == [200, 206]


async def test_another_variant_is_fetched(processes: list[Exchanges], origin: Origin) -> None:
    origin.fields = BY_LANGUAGE
    found = await crowd(processes, (ENGLISH,), (GERMAN,), (ENGLISH,), (GERMAN,))
    assert origin.contacts == 2
    assert sum("; collapsed" in one or "; hit" in one for one in found) == 2


async def test_nothing_waits_long_for_content_that_arrives_slowly(
    processes: list[Exchanges], origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONTENT_S", 0.1)
    origin.content_s = 3.0
    await crowd(processes, (), ())
    assert origin.contacts == 2
