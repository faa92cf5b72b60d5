"""Which requests are counted, as requests and as wants."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store

NOW_S = 1_706_745_600.0
URL = "http://example.org/page"


class Origin:
    """Answers, unless it is down, with a page that nobody may store."""

    def __init__(self) -> None:
        self.is_down = False

    async def fetch(self, *_: Any, **__: Any) -> Fetched:
        if self.is_down:
            raise OriginError(Failure.UNREACHABLE, "down")
        return Fetched(Head(200, Fields([("Cache-Control", "no-store")])), NOW_S, NOW_S, _nothing(), 0)


async def _nothing() -> AsyncGenerator[bytes]:
    return
    yield


@pytest.fixture
def origin() -> Origin:
    return Origin()


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_store("memory", clock=ManualClock(NOW_S), domain_of=registrable_domain)
    yield made
    await made.close()


@pytest.fixture
async def exchanges(store: Store, origin: Origin) -> AsyncIterator[Exchanges]:
    rules = load_config(None, {"state": "/nowhere"}).rules
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    made = Exchanges(ManualClock(NOW_S), store, origin, rules, site, lambda _: None)
    made.counts_wants = True
    yield made
    await made.close()


def request(*fields: tuple[str, str], method: str = "GET") -> Request:
    return Request(method, Target.parse(URL), Fields(fields))


def client(address: str = "127.0.0.1") -> Any:
    made = tflow.tclient_conn()
    made.peername = (address, 1234)
    return made


async def wanted(store: Store) -> dict[tuple[str, str], int]:
    found = await store.planning.wanted()
    assert found is not None
    return dict(found.counts)


async def test_wants_are_requests_without_cookie_and_credentials_by_where_they_come_from(
    store: Store, exchanges: Exchanges
) -> None:
    for address in ("127.0.0.1", "127.0.0.1", "10.1.2.3", "203.0.113.5", "93.184.216.34"):
        await exchanges.answer(request(), client(address))
    for field in (("Cookie", "a=1"), ("Authorization", "Basic x")):
        await exchanges.answer(request(field), client())
    await exchanges.answer(request(method="HEAD"), client())
    assert await wanted(store) == {
        (URL, "loopback"): 2, (URL, "10.0.0.0/8"): 1, (URL, "other"): 1, (URL, ""): 1
    }
    assert await store.top(1) == [(URL, 8)]


async def test_what_nobody_answers_is_not_counted(store: Store, exchanges: Exchanges, origin: Origin) -> None:
    """Hosts can be made up without end, and each would have counts of its own in the store."""
    origin.is_down = True
    assert (await exchanges.answer(request(), client())).head.status == 502
    exchanges.refused(request(), client(), 403, "own-address")
    loop = request(("Via", "1.1 bestbefore-1"))
    assert (await exchanges.answer(loop, client())).head.status == 508
    assert await store.top(1) == []
    assert await wanted(store) == {}


async def test_without_prefetching_nothing_is_wanted(store: Store, exchanges: Exchanges) -> None:
    exchanges.counts_wants = False
    await exchanges.answer(request(), client())
    assert await wanted(store) == {}


async def test_a_request_that_leads_to_a_refresh_in_the_background_is_one(store: Store, exchanges: Exchanges) -> None:
    then_s = NOW_S - 100.0
    head = Head(
        200,
        Fields([("Date", format_http_date(then_s)), ("ETag", '"a"'),
                ("Cache-Control", "max-age=50, stale-while-revalidate=600")]),
    )
    store.put(Copy(URL, head, BodyRef("d", 1), then_s, then_s, then_s, then_s), b"x")
    answer = await exchanges.answer(request(), client())
    assert answer.head.status == 200
    assert exchanges._contacts._background, "a refresh is under way"
    assert await wanted(store) == {(URL, "loopback"): 1}
    assert await store.top(1) == [(URL, 1)]
