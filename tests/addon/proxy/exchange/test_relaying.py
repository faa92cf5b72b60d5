"""When a client gets its answer: before the response is learnt from and stored, unless that changes the answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.feed_delta import A_IM
from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.engine.piggyback import WANT
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.proxy.exchange.test_contacts import NOW_S, URL, Origin, client, content_of, ended, request
from tests.addon.store.memory_backend import open_memory_store
from tests.addon.store.waiting import until

PAGE = b"<!doctype html><html><body><p>A page of some length, which is no feed.</p></body></html>"
FEED = b"<rss><channel><title>t</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


def exchanges_of(store: Store, origin: Origin) -> Exchanges:
    site = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
    return Exchanges(ManualClock(NOW_S), store, origin, load_config(None).rules, site, lambda _: None)


async def asked(store: Store, origin: Origin, *fields: tuple[str, str]) -> tuple[list[Answer], Answer]:
    """Return the answers that were ready early, and the answer. Nothing is stored when an answer is ready early."""
    exchanges = exchanges_of(store, origin)
    pending = exchanges.decide(replace(request(), fields=Fields(fields)), client())
    assert isinstance(pending, Pending)
    early = list[Answer]()

    def ready(answer: Answer) -> None:
        in_memory = store.hot(URL, "")
        assert in_memory is None or not in_memory.copies
        early.append(answer)

    pending.context.ready = ready
    answer = await exchanges.answer(pending)
    await ended(exchanges)
    return early, answer


@pytest.mark.parametrize("fields", [(), (("Range", "bytes=0-9"),)], ids=["whole", "a range from an origin without"])
async def test_a_short_page_is_sent_before_it_is_stored(store: Store, fields: tuple[tuple[str, str], ...]) -> None:
    origin = Origin(PAGE[:5], PAGE[5:], length=len(PAGE))
    origin.has_arrived = True
    early, answer = await asked(store, origin, *fields)
    assert early == [answer]
    assert await content_of(answer) == PAGE
    assert answer.head.fields.get("content-length") == str(len(PAGE))
    assert [copy.body.size for copy in (await store.copies(URL)).copies] == [len(PAGE)]


@pytest.mark.parametrize(
    ("content", "has_arrived", "fields"),
    [
        (FEED, True, ()),
        (PAGE, False, ()),
        (PAGE, True, ((A_IM, "feed"),)),
        (PAGE, True, ((WANT, "1"),)),
    ],
    ids=["a feed", "still arriving", "a delta is asked for", "the history is asked for"],
)
async def test_an_answer_that_may_change_or_is_incomplete_is_sent_at_the_end(
    store: Store, content: bytes, has_arrived: bool, fields: tuple[tuple[str, str], ...]
) -> None:
    origin = Origin(content, length=len(content))
    origin.has_arrived = has_arrived
    early, answer = await asked(store, origin, *fields)
    assert early == []
    assert await content_of(answer) == content


@pytest.mark.parametrize("is_early", [True, False])
async def test_a_request_after_an_early_answer_is_a_hit_though_the_copy_is_still_being_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    goes_on, learn = asyncio.Event(), store.learn

    async def learn_later(seen: Observation) -> RecordChange:
        await goes_on.wait()
        return await learn(seen)

    monkeypatch.setattr(store, "learn", learn_later)
    origin = Origin(PAGE, length=len(PAGE))
    origin.has_arrived = origin.has_validator = True
    exchanges, ready = exchanges_of(store, origin), asyncio.Event()
    first = exchanges.decide(request(), client())
    assert isinstance(first, Pending)
    if is_early:
        first.context.ready = lambda _: ready.set()
    asking = asyncio.create_task(exchanges.answer(first))
    if is_early:
        await ready.wait()
    else:
        await until(lambda: origin.taken)
    second = asyncio.create_task(answer_to(request(), client(), exchanges))
    await asyncio.sleep(0.01)
    assert not second.done()
    goes_on.set()
    for answer, member in ((await asking, "stored"), (await second, "; hit" if is_early else "; collapsed")):
        assert await content_of(answer) == PAGE
        assert member in (answer.head.fields.get("cache-status") or "")
    assert origin.asked == 1
    await ended(exchanges)
