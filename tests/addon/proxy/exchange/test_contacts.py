"""What becomes of an answer that is not read to its end, or cannot be kept."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.reach import EVERYWHERE
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
URL = "http://example.org/page"
PATIENCE_S = 30.0


class Origin:
    """Answers with content in pieces."""

    def __init__(self, *pieces: bytes, length: int | None = None, media_type: str = "text/html") -> None:
        self.pieces = pieces
        self.length = length
        self.media_type = media_type
        self.broken = False
        """Whether it breaks off after these pieces."""
        self.goes_on = asyncio.Event()
        """Awaited after the first of them."""
        self.goes_on.set()
        self.closed = asyncio.Event()
        self.asked = 0
        self.status = 200
        self.has_validator = False
        self.changes = True
        """Whether each answer is another version."""
        self.has_arrived = False
        self.local = False
        self.fails = False
        self.taken = 0
        """How many pieces were read."""

    async def fetch(self, *_: Any, **__: Any) -> Fetched:
        self.asked += 1
        if self.fails:
            await self.goes_on.wait()
            raise OriginError(Failure.UNREACHABLE, "no way there")
        fields = [("Date", format_http_date(NOW_S)), ("Content-Type", self.media_type)]
        if self.has_validator:
            fields.append(("ETag", f'"{self.asked if self.changes else 1}"'))
        if self.status == 200:
            fields.append(("Cache-Control", "max-age=60"))
        head = Head(self.status, Fields(fields))
        return Fetched(
            head, NOW_S, NOW_S, self._content(), self.length, self.closed.set, lambda: self.has_arrived, self.local
        )

    async def _content(self) -> AsyncGenerator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            yield piece
            await self.goes_on.wait()
        if self.broken:
            raise OriginError(Failure.RESET, "broken off")


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


def exchanges(store: Store, origin: Origin) -> Exchanges:
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    return Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, lambda _: None)


def request() -> Request:
    return Request("GET", Target.parse(URL))


def client() -> Any:
    made = tflow.tclient_conn()
    made.peername = ("127.0.0.1", 1234)
    return made


def with_a_fault(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def learn(_: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(store, "learn", learn)


async def content_of(answer: Answer) -> bytes:
    content = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
    answer.finish(len(content), complete=True)
    return content


async def ended(asked: Exchanges) -> None:
    """Wait until nothing goes on in the background."""
    going_on = set(asked._background.running)
    _, pending = await asyncio.wait(going_on, timeout=PATIENCE_S) if going_on else (going_on, set())
    assert pending == set()
    await asyncio.sleep(0)  # what is recorded of its end
    await asked.close()


async def settled() -> None:
    """All that can go on has done so."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_short_content_that_has_arrived_is_stored_and_sent_at_once(store: Store) -> None:
    origin = Origin(b"1234", b"5678", length=8)
    origin.has_arrived = True
    asked = exchanges(store, origin)
    answer = await answer_to(request(), client(), asked)
    assert (answer.body, asked._background.running) == (b"12345678", set())
    assert [copy.body.size for copy in (await store.copies(URL)).copies] == [8]
    assert origin.closed.is_set()
    await ended(asked)


async def test_what_cannot_be_kept_is_not_sent_as_if_it_were_shorter(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with_a_fault(store, monkeypatch)
    asked = exchanges(store, Origin(b"1234", b"5678", length=8))
    answer = await answer_to(request(), client(), asked)
    assert answer.head.status == 502, "the last piece was not passed on"
    await ended(asked)
    assert "a bug in bestbefore" in caplog.text


async def test_nor_does_it_end_as_if_it_were_complete(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_fault(store, monkeypatch)
    asked = exchanges(store, Origin(b"1234", b"5678"))
    answer = await answer_to(request(), client(), asked)
    assert answer.chunks is not None
    with pytest.raises(OriginError):
        [chunk async for chunk in answer.chunks]
    await ended(asked)


async def test_a_refresh_that_breaks_off_is_no_fault(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    then_s = NOW_S - 100.0
    head = Head(200, Fields([("Date", format_http_date(then_s)), ("ETag", '"a"'),
                             ("Cache-Control", "max-age=50, stale-while-revalidate=600")]))
    store.put(Copy(URL, head, BodyRef("d", 1), then_s, then_s, then_s, then_s), b"x")
    origin = Origin(b"1234")
    origin.broken = True
    asked = exchanges(store, origin)
    assert (await answer_to(request(), client(), asked)).body == b"x"
    await ended(asked)
    assert origin.closed.is_set()
    assert caplog.records == []


@pytest.mark.parametrize("breaks", [True, False])
async def test_what_a_copy_can_replace_begins_when_it_is_complete_for_all(store: Store, breaks: bool) -> None:
    then_s = NOW_S - 100.0
    head = Head(200, Fields([("Date", format_http_date(then_s)), ("ETag", '"a"'),
                             ("Cache-Control", "max-age=50, stale-if-error=600")]))
    store.put(Copy(URL, head, BodyRef("d", 5), then_s, then_s, then_s, then_s), b"stale")
    origin = Origin(b"1234", b"5678", length=12 if breaks else 8)
    origin.broken = breaks
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    async with asyncio.timeout(PATIENCE_S):
        first = asyncio.ensure_future(answer_to(request(), client(), asked))
        while not origin.taken:  # noqa: ASYNC110 - the time limit is a real one
            await asyncio.sleep(0)
        late = asyncio.ensure_future(answer_to(request(), client(), asked))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not late.done()
        origin.goes_on.set()
        answers = await asyncio.gather(first, late)
        assert [await content_of(answer) for answer in answers] == [b"stale" if breaks else b"12345678"] * 2
    assert origin.asked == 1
    await ended(asked)


async def test_who_gives_up_waiting_for_a_feed_does_not_hold_up_what_reads_it(store: Store) -> None:
    origin = Origin(b"<rss>", *[bytes(6_000)] * 3, media_type="application/rss+xml")
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await answer_to(request(), client(), asked)
    origin.goes_on.set()
    await ended(asked)
    assert origin.closed.is_set()


async def test_a_client_that_reads_nothing_does_not_delay_others_that_joined(store: Store) -> None:
    origin = Origin(*[bytes(4_000)] * 5)  # more than can be held, as only its end tells
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    first = await answer_to(request(), client(), asked)
    stalled = asyncio.create_task(answer_to(request(), client(), asked))
    await asyncio.sleep(0)
    origin.goes_on.set()
    assert first.chunks is not None
    async with asyncio.timeout(PATIENCE_S):
        assert sum([len(chunk) async for chunk in first.chunks]) == 20_000
        assert (await stalled).head.status == 200
    await asked.close()


async def test_content_of_unknown_length_is_shared_as_it_arrives(store: Store) -> None:
    origin = Origin(b"1234", b"5678")
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    answers = [await answer_to(request(), client(), asked) for _ in range(2)]
    for answer in answers:
        assert answer.chunks is not None
        assert await anext(answer.chunks) == b"1234"
    origin.goes_on.set()
    async with asyncio.timeout(PATIENCE_S):
        for answer in answers:
            assert answer.chunks is not None
            assert [chunk async for chunk in answer.chunks] == [b"5678"]
    assert origin.asked == 1
    await ended(asked)


async def test_content_that_breaks_off_is_incomplete_for_all(store: Store) -> None:
    origin = Origin(b"1234", b"5678")
    origin.broken = True
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    answers = [await answer_to(request(), client(), asked) for _ in range(2)]
    origin.goes_on.set()
    for answer in answers:
        assert answer.chunks is not None
        with pytest.raises(OriginError, match="broken off"):
            assert [chunk async for chunk in answer.chunks]
    assert origin.asked == 1
    await ended(asked)


@pytest.mark.parametrize("slow", [0, 1])
async def test_a_client_that_is_left_behind_gets_the_rest_by_itself(
    store: Store, slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be it the one that made the contact or the one that joined it."""
    monkeypatch.setattr("bestbefore.addon.proxy.exchange.sharing.spool.GRACE_S", 0.01)
    origin = Origin(*[bytes([number]) * 4_000 for number in range(10)])  # more than twice the limit
    origin.has_validator, origin.changes = True, False
    asked = exchanges(store, origin)
    answers = [await answer_to(request(), client(), asked) for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S):
        for contacts, answer in ((1, answers[1 - slow]), (2, answers[slow])):
            assert answer.chunks is not None
            assert b"".join([chunk async for chunk in answer.chunks]) == b"".join(origin.pieces)
            assert origin.asked == contacts
    await ended(asked)


async def test_nothing_is_shared_that_turned_out_to_be_too_large(store: Store) -> None:
    origin = Origin(*[bytes(4_000)] * 5)
    asked = exchanges(store, origin)

    async def length(answer: Answer) -> int:
        assert answer.chunks is not None
        return sum([len(chunk) async for chunk in answer.chunks])

    for contacts in (1, 3):
        answers = [await answer_to(request(), client(), asked) for _ in range(2)]
        assert await asyncio.gather(*map(length, answers)) == [20_000, 20_000]
        assert origin.asked == contacts
    await ended(asked)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.UPDATED),
        (404, Outcome.UPDATED),
        (410, Outcome.UPDATED),
        (301, Outcome.UPDATED),  # which is stored in its place
        (302, Outcome.PASSED_ON),
        (403, Outcome.PASSED_ON),
        (429, Outcome.PASSED_ON),
    ],
)
@pytest.mark.parametrize("unasked", [False, True])
async def test_what_comes_in_place_of_a_copy_is_an_update_only_if_it_is_of_the_object(
    store: Store, status: int, outcome: Outcome, unasked: bool
) -> None:
    clock, origin, told = ManualClock(NOW_S), Origin(b"content"), list[Answered]()
    origin.has_validator = True
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asking = Exchanges(clock, store, origin, load_config(None).rules, site, told.append)
    await content_of(await answer_to(request(), client(), asking))
    clock.advance(120.0)
    origin.status = status
    if unasked:
        await asking.prefetch(request(), EVERYWHERE)
    else:
        await content_of(await answer_to(request(), client(), asking))
    assert [one.outcome for one in told] == [Outcome.MISS, outcome]


@pytest.mark.parametrize(("etag", "outcome"), [('"1"', Outcome.VALIDATED), ('"2"', Outcome.UPDATED)])
async def test_a_head_request_shows_whether_the_copy_is_current(store: Store, etag: str, outcome: Outcome) -> None:
    then_s = NOW_S - 100.0
    fields = Fields([("Date", format_http_date(then_s)), ("ETag", etag), ("Cache-Control", "max-age=50")])
    store.put(Copy(URL, Head(200, fields), BodyRef("d", 1), then_s, then_s, then_s, then_s), b"x")
    origin, told = Origin(), list[Answered]()
    origin.has_validator = True  # "1", the first time
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asking = Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, told.append)
    await content_of(await answer_to(replace(request(), method="HEAD"), client(), asking))
    (one,) = told
    assert (one.outcome, one.validation, one.unnecessary) == (outcome, True, outcome is Outcome.VALIDATED)
    assert [copy.outdated for copy in (await store.copies(URL)).copies] == [outcome is Outcome.UPDATED]


class Played:
    """Gives one answer after the other, each at the moment of a clock."""

    def __init__(self, clock: ManualClock, *answers: tuple[int, list[tuple[str, str]], bytes]) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.tags = list[str | None]()
        """What If-None-Match said."""

    async def fetch(self, sent: Request, **_: Any) -> Fetched:
        self.tags.append(sent.fields.get("if-none-match"))
        status, fields, content = self.answers.pop(0)
        now_s = self.clock.now()
        head = Head(status, Fields([("Date", format_http_date(now_s)), *fields]))
        return Fetched(head, now_s, now_s, self._content(content), None)

    async def _content(self, content: bytes) -> AsyncGenerator[bytes]:
        yield content


async def played(*answers: tuple[int, list[tuple[str, str]], bytes]) -> tuple[list[Answered], Played, Record]:
    """What is recorded of one request every ten minutes, the origin, and what is known of the object in the end."""
    clock, told = ManualClock(NOW_S), list[Answered]()
    origin = Played(clock, *answers)
    store = await open_memory_store(clock=clock)
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asking = Exchanges(clock, store, origin, load_config(None).rules, site, told.append)
    for _ in answers:
        await content_of(await answer_to(request(), client(), asking))
        clock.advance(600.0)
    record = await store.record(URL)
    await asking.close()
    await store.close()
    assert record is not None
    return told, origin, record


PAGE = (200, [("ETag", '"a"'), ("Cache-Control", "max-age=60")], b"content")


@pytest.mark.parametrize("lifetime", [[], [("Cache-Control", "max-age=60")]])
@pytest.mark.parametrize(("status", "shows"), [(429, False), (408, False), (501, False), (404, True)])
async def test_an_answer_that_shows_nothing_of_the_object_is_no_update(
    status: int, shows: bool, lifetime: list[tuple[str, str]]
) -> None:
    """Also where the origin lets it be stored, and so stand in place of the copy."""
    told, _, record = await played(PAGE, (status, lifetime, b"no"), PAGE)
    assert (record.contacts, record.n_updates) == ((3, 2) if shows else (2, 0))
    assert [one.outcome for one in told[:2]] == [Outcome.MISS, Outcome.UPDATED if shows else Outcome.PASSED_ON]


@pytest.mark.parametrize("status", [407, 408, 421, 425, 429])
async def test_after_it_the_copy_is_validated_again(status: int) -> None:
    told, origin, _ = await played(PAGE, (status, [("Retry-After", "9")], b"no"), (304, [PAGE[1][0]], b""))
    assert [one.outcome for one in told] == [Outcome.MISS, Outcome.PASSED_ON, Outcome.VALIDATED]
    assert origin.tags == [None, '"a"', '"a"']


@pytest.mark.parametrize("content", [b"content", b"other"])
async def test_a_validation_is_unnecessary_also_where_the_origin_sends_the_same_again(content: bytes) -> None:
    """Many know no 304."""
    told, _, _ = await played((200, [], b"content"), *[(*PAGE[:2], b"content")] * 2, (200, [("ETag", '"b"')], content))
    assert [one.validation for one in told] == [False, False, True, True]
    assert [one.unnecessary for one in told] == [False, False, True, content == b"content"]


async def test_the_coding_of_a_copy_is_recorded_as_that_of_the_answer() -> None:
    coded = (200, [*PAGE[1], ("Content-Encoding", "gzip")], b"content")
    answered, _, _ = await played(coded, (304, [PAGE[1][0]], b""))
    assert [(one.outcome, one.encoding) for one in answered] == [(Outcome.MISS, "gzip"), (Outcome.VALIDATED, "gzip")]


async def test_an_answer_that_may_not_be_kept_takes_the_copy_with_it(store: Store) -> None:
    clock = ManualClock(NOW_S)
    origin = Played(clock, PAGE, (200, [("Cache-Control", "no-store")], b"other"))
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asking = Exchanges(clock, store, origin, load_config(None).rules, site, lambda _: None)
    for copies in (1, 0):
        await content_of(await answer_to(request(), client(), asking))
        assert len((await store.copies(URL)).copies) == copies
        clock.advance(600.0)
    await asking.close()


async def test_an_object_that_is_being_fetched_is_not_prefetched(store: Store) -> None:
    clock, origin = ManualClock(NOW_S), Origin(b"content")
    origin.has_validator = True
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asking = Exchanges(clock, store, origin, load_config(None).rules, site, lambda _: None)
    await content_of(await answer_to(request(), client(), asking))
    clock.advance(120.0)
    origin.pieces = (b"1", b"2")
    origin.goes_on.clear()
    answer = await answer_to(request(), client(), asking)
    assert await asking.prefetch(request(), EVERYWHERE) is None
    origin.goes_on.set()
    await content_of(answer)
    await asyncio.sleep(0)
    assert origin.asked == 2
    assert await asking.prefetch(request(), EVERYWHERE) is not None, "the contact has ended"
    await asking.close()


@pytest.mark.parametrize("length", [None, 80_000])
async def test_a_prefetch_of_what_is_too_large_to_be_stored_is_given_up(store: Store, length: int | None) -> None:
    clock, origin = ManualClock(NOW_S), Origin(b"content")
    origin.has_validator = True
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asking = Exchanges(clock, store, origin, load_config(None).rules, site, lambda _: None)
    await content_of(await answer_to(request(), client(), asking))
    clock.advance(120.0)
    origin.pieces, origin.length, origin.taken = (bytes(4_000),) * 20, length, 0
    origin.closed.clear()
    await asking.prefetch(request(), EVERYWHERE)
    await asyncio.sleep(0)
    assert origin.closed.is_set()
    assert origin.taken <= 5, "10,000 bytes, and what was on its way"
    await asking.close()


async def test_requests_that_joined_a_failed_contact_get_its_error(store: Store) -> None:
    origin = Origin(b"content")
    origin.fails = True
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    waiting = [asyncio.create_task(answer_to(request(), client(), asked)) for _ in range(3)]
    await settled()
    origin.goes_on.set()
    assert [answer.head.status for answer in await asyncio.gather(*waiting)] == [502] * 3
    assert origin.asked == 1
    origin.fails = False
    assert (await answer_to(request(), client(), asked)).head.status == 200, "the failed contact is over"
    await asked.close()


@pytest.mark.parametrize(("local", "contacts"), [(True, 2), (False, 1)])
async def test_a_remote_client_shares_no_answer_that_came_from_this_machine(
    store: Store, local: bool, contacts: int
) -> None:
    origin = Origin(b"1", b"2", length=2)
    origin.local = local
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    first = asyncio.create_task(answer_to(request(), client(), asked))
    await settled()
    remote = client()
    remote.peername = ("192.0.2.7", 1234)
    other = asyncio.create_task(answer_to(request(), remote, asked))
    await settled()
    origin.goes_on.set()
    async with asyncio.timeout(PATIENCE_S):
        assert [await content_of(one) for one in (await first, await other)] == [b"12", b"12"]
    assert origin.asked == contacts
    await asked.close()


@pytest.mark.parametrize("purged", [False, True])
async def test_what_was_purged_meanwhile_is_not_shared(purged: bool) -> None:
    clock = ManualClock(NOW_S)
    store = await open_memory_store(clock=clock)
    origin = Origin(b"1", b"2", length=2)
    origin.goes_on.clear()
    asked = exchanges(store, origin)
    first = asyncio.create_task(answer_to(request(), client(), asked))
    await settled()
    clock.advance(1.0)
    if purged:
        store.drop(URL)
    other = asyncio.create_task(answer_to(request(), client(), asked))
    await settled()
    origin.goes_on.set()
    async with asyncio.timeout(PATIENCE_S):
        assert [await content_of(one) for one in (await first, await other)] == [b"12", b"12"]
    assert origin.asked == 1 + purged
    await asked.close()
    await store.close()


async def test_a_shared_answer_is_recorded_as_a_hit_with_the_reason(store: Store) -> None:
    origin, records = Origin(b"1", b"2", length=2), list[Answered]()
    origin.goes_on.clear()
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    asked = Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, records.append)
    asking = [asyncio.create_task(answer_to(request(), client(), asked)) for _ in range(2)]
    await settled()
    origin.goes_on.set()
    answers = await asyncio.gather(*asking)
    for answer in answers:
        await content_of(answer)
    assert sorted(one.outcome for one in records) == sorted([Outcome.MISS, Outcome.HIT])
    assert "collapsed" in (answers[1].head.fields.get("cache-status") or "")
    (hit,) = (one for one in records if one.outcome is Outcome.HIT)
    assert (hit.contact, hit.ttl_s) == (False, 60.0)
    await asked.close()
