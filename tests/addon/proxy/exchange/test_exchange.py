"""How often the engine is asked for a request, and which requests are counted, as requests and as wants."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.request import Ask, Decision, Load, Refuse, Serve, on_request
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
URL = "http://example.org/page"


class Origin:
    """Answers, unless it is down, with a page that may not be stored."""

    def __init__(self) -> None:
        self.is_down = False

    async def fetch(self, *_: Any, interim: Interim = no_interim, **__: Any) -> Fetched:
        if self.is_down:
            raise OriginError(Failure.UNREACHABLE, "down")
        interim(Head(103, Fields([("Link", "</a>")])))
        return Fetched(Head(200, Fields([("Cache-Control", "no-store")])), NOW_S, NOW_S, _nothing(), 0)


async def _nothing() -> AsyncGenerator[bytes]:
    return
    yield


@pytest.fixture
def origin() -> Origin:
    return Origin()


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


@pytest.fixture
def demand() -> dict[str, bool]:
    """Whether demand is counted."""
    return {"counted": True}


@pytest.fixture
async def exchanges(store: Store, origin: Origin, demand: dict[str, bool]) -> AsyncIterator[Exchanges]:
    rules = load_config(None, {"state": "/nowhere"}).rules
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    clock = ManualClock(NOW_S)
    made = Exchanges(clock, store, origin, rules, site, lambda _: None, counts_demand=lambda: demand["counted"])
    yield made
    await made.close()


def request(*fields: tuple[str, str], method: str = "GET") -> Request:
    return Request(method, Target.parse(URL), Fields(fields))


def client(address: str = "127.0.0.1") -> Any:
    made = tflow.tclient_conn()
    made.peername = (address, 1234)
    return made


async def wanted(store: Store) -> dict[tuple[str, str], int]:
    return dict(store.planning.wants.counts)


async def test_wants_are_requests_without_cookie_and_credentials_by_where_they_come_from(
    store: Store, exchanges: Exchanges
) -> None:
    for address in ("127.0.0.1", "127.0.0.1", "10.1.2.3", "203.0.113.5", "93.184.216.34"):
        await answer_to(request(), client(address), exchanges)
    for field in (("Cookie", "a=1"), ("Authorization", "Basic x")):
        await answer_to(request(field), client(), exchanges)
    await answer_to(request(method="HEAD"), client(), exchanges)
    assert await wanted(store) == {(URL, "loopback"): 2, (URL, "10.0.0.0/8"): 1, (URL, "other"): 1, (URL, ""): 1}
    assert await store.top(1) == [(URL, 8)]


async def test_a_request_without_an_answer_is_not_counted(store: Store, exchanges: Exchanges, origin: Origin) -> None:
    """Hosts can be made up without end, and each would have counts of its own in the store."""
    origin.is_down = True
    assert (await answer_to(request(), client(), exchanges)).head.status == 502
    exchanges.refused(request(), client(), 403, "own-address")
    loop = request(("Via", "1.1 bestbefore-1"))
    assert (await answer_to(loop, client(), exchanges)).head.status == 508
    assert await store.top(1) == []
    assert await wanted(store) == {}


async def test_without_prefetching_no_demand_is_counted(
    store: Store, exchanges: Exchanges, demand: dict[str, bool]
) -> None:
    demand["counted"] = False
    await answer_to(request(), client(), exchanges)
    assert await wanted(store) == {}


async def test_a_request_that_leads_to_a_refresh_in_the_background_is_one(store: Store, exchanges: Exchanges) -> None:
    then_s = NOW_S - 100.0
    head = Head(
        200,
        Fields(
            [
                ("Date", format_http_date(then_s)),
                ("ETag", '"a"'),
                ("Cache-Control", "max-age=50, stale-while-revalidate=600"),
            ]
        ),
    )
    store.put(Copy(URL, head, BodyRef("d", 1), then_s, then_s, then_s, then_s), b"x")
    answer = await answer_to(request(), client(), exchanges)
    assert answer.head.status == 200
    assert exchanges._background.running, "a refresh is under way"
    assert await wanted(store) == {(URL, "loopback"): 1}
    assert await store.top(1) == [(URL, 1)]


VALIDATED = [("ETag", '"a"')]
FRESH = [*VALIDATED, ("Cache-Control", "max-age=600")]


def stored(store: Store, fields: list[tuple[str, str]], body: bytes = b"x", rule: str = "") -> Copy:
    """Store a copy that was received 100 s ago."""
    then_s = NOW_S - 100.0
    head = Head(200, Fields([("Date", format_http_date(then_s)), *fields]))
    copy = Copy(URL, head, BodyRef("d", 1), then_s, then_s, then_s, then_s, rule=rule)
    store.put(copy, body)
    return copy


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[Decision]:
    """What the engine has decided."""
    made = list[Decision]()

    def decide(*args: Any, **options: Any) -> Any:
        decision = on_request(*args, **options)
        if not isinstance(decision, Load):
            made.append(decision)
        return decision

    monkeypatch.setattr("bestbefore.addon.proxy.exchange.exchange.on_request", decide)
    return made


@pytest.mark.parametrize(
    ("fields", "asked", "expected"),
    [
        (FRESH, [], Serve),
        (VALIDATED, [], Ask),
        ([*FRESH, ("Vary", "Accept")], [], Serve),
        (FRESH, [("Cache-Control", "no-cache")], Ask),
        (FRESH, [("A-IM", "feed")], Serve),
        (VALIDATED, [("Cache-Control", "only-if-cached")], Refuse),
        (FRESH, [("Via", "1.1 bestbefore-1")], Refuse),
        (FRESH, [("If-Match", '"a"')], Ask),
        (None, [], Ask),
    ],
)
@pytest.mark.parametrize("known", ["all", "some", "in the backend"])
async def test_the_engine_decides_once_whatever_is_in_memory(
    store: Store,
    exchanges: Exchanges,
    decisions: list[Decision],
    fields: list[tuple[str, str]] | None,
    asked: list[tuple[str, str]],
    expected: type,
    known: str,
) -> None:
    rule = exchanges._active.rules.rule_for("example.org", "/page")
    if fields is not None:
        stored(store, fields, rule=rule.key)
    if known != "some":
        await store.flush()
        store._copies._hot.clear()
    if known == "all":
        for copy in (await store.copies(URL)).copies:
            await store.body(copy)
    await answer_to(request(*asked), client(), exchanges)
    assert [type(decision) for decision in decisions] == [expected]


async def test_a_decision_on_copies_that_were_replaced_meanwhile_is_made_again(
    store: Store, exchanges: Exchanges, decisions: list[Decision]
) -> None:
    stored(store, VALIDATED)
    await store.copies(URL)
    pending = exchanges.decide(request(), client())
    assert isinstance(pending, Pending)
    store.drop(URL)
    answer = await exchanges.answer(pending)
    assert "fwd=uri-miss" in (answer.head.fields.get("cache-status") or "")


async def test_a_copy_whose_content_is_gone_is_passed_over(
    store: Store, exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(store, FRESH)

    async def gone(_: Copy) -> None:
        return None

    monkeypatch.setattr(store, "body", gone)
    answer = await answer_to(request(("A-IM", "feed")), client(), exchanges)
    assert "fwd=uri-miss" in (answer.head.fields.get("cache-status") or "")


@pytest.mark.parametrize(("written", "statuses"), [("", [103]), ("[default]\ninterim = false\n", [])])
async def test_a_rule_decides_whether_interim_responses_are_forwarded(
    exchanges: Exchanges, written: str, statuses: list[int], tmp_path: Path
) -> None:
    file = tmp_path / "proxy.toml"
    file.write_text(written)
    exchanges.reconfigured(load_config(file, {"state": "/nowhere"}).rules, exchanges.site)
    pending = exchanges.decide(request(), client())
    assert isinstance(pending, Pending)
    came: list[Head] = []
    await exchanges.answer(pending, came.append)
    assert [head.status for head in came] == statuses
