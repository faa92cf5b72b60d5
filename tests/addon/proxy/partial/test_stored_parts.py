"""Parts as they are stored, combined and served: always the bytes of one version."""

import asyncio
import random
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mitmproxy.test import tflow

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.conditional import parts
from bestbefore.addon.rfc9111.conditional.parts import PARTS_AT_MOST, partition_of
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
URL = "http://example.org/film"


class FilmOrigin:
    """Serves versions of one content, by ranges, with entity tags that may be weak or missing."""

    def __init__(self, clock: ManualClock, tag: str = '"{}"', size: int = 60) -> None:
        self.clock = clock
        self.tag = tag
        self.size = size
        self.version = 1
        self.sent: list[tuple[str | None, int]] = []
        """Range and status of each contact."""
        self.breaks = False
        self.gate = asyncio.Event()
        self.gate.set()
        """Content of more than 20 bytes ends when it is set."""
        self.lacks = 0
        """How many bytes a 206 has less than its Content-Range says."""
        self.fails_after: int | None = None
        """After how many contacts it cannot be reached."""
        self.changes_after = 0
        """After how many contacts from now on there is a new version; 0: not by itself."""

    def content(self, version: int) -> bytes:
        return random.Random(version).randbytes(self.size + version % 3)

    async def fetch(self, request: Request, **_: Any) -> Fetched:
        content, tag = self.content(self.version), self.tag.format(self.version)
        asked, condition = request.fields.get("range"), request.fields.get("if-range")
        if self.fails_after is not None and len(self.sent) >= self.fails_after:
            raise OriginError(Failure.UNREACHABLE, "down")
        await asyncio.sleep(0)
        fields = [("Date", format_http_date(self.clock.now())), ("Cache-Control", "max-age=60, stale-if-error=600")]
        fields += [("ETag", tag)] if tag else []
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked or "")
        status, body = 200, content
        if tag and request.fields.get("if-none-match") == tag:
            status, body = 304, b""
        elif match and condition in (None, tag):
            first = int(match[1]) if match[1] else max(0, len(content) - int(match[2]))
            last = min(int(match[2] or 10**9), len(content) - 1) if match[1] else len(content) - 1
            status, body = (206, content[first : last + 1]) if first <= last else (416, b"")
            lies = f"{first}-{last}" if body else "*"
            fields.append(("Content-Range", f"bytes {lies}/{len(content)}"))
            body = body[: len(body) - self.lacks]
        if status != 304:
            fields.append(("Content-Length", str(len(body))))
        self.sent.append((asked, status))
        if self.changes_after:
            self.changes_after -= 1
            self.version += not self.changes_after
        now_s = self.clock.now()
        self.clock.advance(0.001)
        return Fetched(Head(status, Fields(fields)), now_s, now_s, self._pieces(body), len(body))

    async def _pieces(self, body: bytes) -> AsyncGenerator[bytes]:
        half = len(body) // 2
        for piece in (body[:half], body[half:]):
            if len(body) > 20:
                await self.gate.wait()
            if piece:
                yield piece
            if self.breaks:
                raise OriginError(Failure.RESET, "broken off")


class Film:
    """A proxy with an origin of its own."""

    def __init__(self, store: Any, clock: ManualClock, origin: FilmOrigin, limit: int = 10_000) -> None:
        site = Site(name="bestbefore-1", salt=b"s", max_cached_body=limit)
        self.records: list[Any] = []
        self.exchanges = Exchanges(clock, store, origin, load_config(None).rules, site, self.records.append)
        self.origin = origin

    async def get(self, wanted: str | None = None, *fields: tuple[str, str]) -> tuple[Head, bytes]:
        client: Any = tflow.tclient_conn()
        client.peername = ("127.0.0.1", 1234)
        ranged = () if wanted is None else (("Range", f"bytes={wanted}"),)
        answer = await answer_to(Request("GET", Target.parse(URL), Fields((*ranged, *fields))), client, self.exchanges)
        body = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
        answer.finish(len(body), complete=True)
        await asyncio.sleep(0)
        return answer.head, body


def is_of_one_version(film: Film, head: Head, body: bytes) -> bool:
    """Whether an answer has the bytes that it says, of the version that it says."""
    tag = re.search(r"\d+", head.fields.get("etag") or "")
    versions = [int(tag[0])] if tag else range(1, film.origin.version + 1)
    for version in versions:
        content = film.origin.content(version)
        if head.status == 200 and body == content:
            return True
        where = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", head.fields.get("content-range") or "")
        is_here = where is not None and int(where[3]) == len(content)
        if head.status == 206 and where and is_here and body == content[int(where[1]) : int(where[2]) + 1]:
            return True
        if head.status == 416 and not body:
            return True
    return False


wanted_ranges = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 59), st.integers(0, 40)).map(lambda p: f"{p[0]}-{p[0] + p[1]}"),
    st.integers(0, 59).map(lambda first: f"{first}-"),
    st.integers(1, 60).map(lambda last: f"-{last}"),
)
steps = st.lists(
    st.one_of(
        wanted_ranges.map(lambda w: ("get", w)),
        wanted_ranges.map(lambda w: ("get at once", w)),
        st.just(("change", None)),
        st.just(("change soon", None)),
        st.just(("wait", None)),
        st.just(("down or up", None)),
    ),
    max_size=25,
)


@pytest.fixture
def near_bytes(monkeypatch: pytest.MonkeyPatch) -> int:
    """Only gaps with less than this between them are fetched as one."""
    monkeypatch.setattr(parts, "NEAR_BYTES", 4)
    return 4


@pytest.mark.usefixtures("near_bytes")
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.sampled_from(['"{}"', 'W/"{}"', ""]), st.sampled_from([30, 10_000]))
def test_answers_are_always_of_one_version(script: list[tuple[str, str | None]], tag: str, limit: int) -> None:
    async def play() -> None:
        clock = ManualClock(NOW_S)
        store = await open_memory_store(clock=clock)
        film = Film(store, clock, FilmOrigin(clock, tag), limit)
        for what, wanted in script:
            if what == "change":
                film.origin.version += 1
            elif what == "change soon":
                film.origin.changes_after = 2
            elif what == "down or up":
                film.origin.fails_after = 0 if film.origin.fails_after is None else None
            elif what == "wait":
                clock.advance(70.0)
            else:
                for head, body in await asyncio.gather(*[film.get(wanted) for _ in range(1 + (what == "get at once"))]):
                    assert head.status == 502 or is_of_one_version(film, head, body), (wanted, head)
        assert len((await store.copies(URL, partition_of(""))).copies) <= PARTS_AT_MOST
        await store.close()

    asyncio.run(play())


@pytest.fixture
async def film() -> Any:
    clock = ManualClock(NOW_S)
    store = await open_memory_store(clock=clock)
    yield Film(store, clock, FilmOrigin(clock))
    await store.close()


async def test_a_resumed_download_costs_what_is_missing(film: Film) -> None:
    await film.get("0-29")
    head, body = await film.get()
    assert (head.status, body) == (200, film.origin.content(1))
    assert film.origin.sent == [("bytes=0-29", 206), ("bytes=30-", 206)]
    assert [record.received_bytes for record in film.records] == [30, len(body) - 30]
    assert "; hit" in (await film.get("10-20"))[0].fields.get("cache-status")
    assert "; hit" in (await film.get())[0].fields.get("cache-status")


async def test_parts_that_are_complete_together_become_an_ordinary_copy(film: Film) -> None:
    for wanted in ("30-", "0-9", "10-29"):
        await film.get(wanted)
    held = (await film.exchanges._store.copies(URL)).copies
    assert [(copy.head.status, copy.body.size) for copy in held] == [(200, len(film.origin.content(1)))]
    assert (await film.get())[1] == film.origin.content(1)
    assert len(film.origin.sent) == 3


@pytest.mark.usefixtures("near_bytes")
async def test_only_the_gaps_are_fetched(film: Film) -> None:
    for wanted in ("10-19", "30-39", "41-49"):
        await film.get(wanted)
    head, body = await film.get()
    assert (head.status, body) == (200, film.origin.content(1))
    assert [asked for asked, _ in film.origin.sent[3:]] == ["bytes=0-9", "bytes=20-29", "bytes=40-40", "bytes=50-"]
    assert film.records[-1].received_bytes == len(body) - 29
    assert "; hit" in (await film.get())[0].fields.get("cache-status")


async def test_a_response_that_began_first_and_ends_last_is_stored(film: Film) -> None:
    film.origin.gate.clear()
    slow = asyncio.ensure_future(film.get("0-39"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert film.origin.sent == [("bytes=0-39", 206)]
    await film.get("20-29")
    film.origin.gate.set()
    await slow
    assert "; hit" in (await film.get("0-39"))[0].fields.get("cache-status")
    assert len(film.origin.sent) == 2


@pytest.mark.usefixtures("near_bytes")
async def test_a_change_between_two_gaps_breaks_the_answer_and_drops_the_parts(film: Film) -> None:
    await film.get("10-19")
    film.origin.changes_after = 1
    assert (await film.get())[0].status == 502, "short content is collected before its answer begins"
    assert film.origin.sent[1:] == [("bytes=0-9", 206), ("bytes=20-", 200)]
    assert (await film.get("10-19"))[1] == film.origin.content(2)[10:20]
    assert film.origin.sent[3:] == [("bytes=10-19", 206)]


@pytest.mark.usefixtures("near_bytes")
async def test_an_error_between_two_gaps_breaks_the_answer_and_leaves_the_parts(film: Film) -> None:
    await film.get("10-19")
    film.origin.fails_after = 2
    assert (await film.get())[0].status == 502
    assert "; hit" in (await film.get("0-19"))[0].fields.get("cache-status")


async def test_parts_of_a_former_version_are_given_up(film: Film) -> None:
    await film.get("0-29")
    film.origin.version = 2
    head, body = await film.get("20-39")
    assert (head.status, body, head.fields.get("etag")) == (206, film.origin.content(2)[20:40], '"2"')
    assert film.origin.sent[1:] == [("bytes=30-39", 200)]
    assert (await film.get("0-9"))[1] == film.origin.content(2)[:10]
    assert len(film.origin.sent) == 2


async def test_stale_parts_are_confirmed_without_their_content(film: Film) -> None:
    await film.get("0-29")
    film.exchanges._clock.advance(70.0)  # type: ignore[attr-defined]
    head, body = await film.get("5-9")
    assert (head.status, body) == (206, film.origin.content(1)[5:10])
    assert film.origin.sent[1:] == [("bytes=5-9", 304)]
    assert film.records[-1].received_bytes == 0
    assert "; hit" in (await film.get("5-9"))[0].fields.get("cache-status")


async def test_content_shorter_than_its_range_answers_the_same_request_and_ranges_within_it(film: Film) -> None:
    film.origin.tag, film.origin.lacks = "", 3
    first = await film.get("20-39")
    again, within = await film.get("20-39"), await film.get("25-35")
    assert [len(body) for _, body in (first, again, within)] == [17, 17, 11]
    assert first[1] == again[1] == film.origin.content(1)[20:37]
    assert again[0].fields.get("content-range") == f"bytes 20-36/{len(film.origin.content(1))}"
    assert is_of_one_version(film, *within)
    assert len(film.origin.sent) == 1
    await film.get("30-39")
    assert len(film.origin.sent) == 2


async def test_what_arrived_of_a_broken_response_is_kept(film: Film) -> None:
    film.origin.breaks = True
    assert (await film.get())[0].status == 502 or film.origin.sent == [(None, 200)]
    film.origin.breaks = False
    half = len(film.origin.content(1)) // 2
    assert (await film.get())[1] == film.origin.content(1)
    assert film.origin.sent[-1] == (f"bytes={half}-", 206)


async def test_an_invalidation_applies_to_parts(film: Film) -> None:
    await film.get("0-29")
    film.exchanges._store.drop(URL)
    await film.get("0-29")
    assert len(film.origin.sent) == 2
