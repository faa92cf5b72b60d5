"""When a client gets its answer: before the response is learnt from and stored, unless that changes the answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.feed_delta import A_IM
from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.engine.piggyback import WANT
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.store.store import Store
from tests.addon.proxy.exchange.asking import answer_to
from tests.addon.proxy.exchange.test_contacts import NOW_S, URL, Origin, client, content_of, ended, exchanges, request
from tests.addon.store.memory_backend import open_memory_store
from tests.addon.store.waiting import until

PAGE = b"<!doctype html><html><body><p>A page of some length, which is no feed.</p></body></html>"
FEED = b"<rss><channel><title>t</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


async def asked(store: Store, origin: Origin, *fields: tuple[str, str]) -> tuple[list[Answer], Answer]:
    """Return the answers that were ready early, and the answer. Nothing is stored when an answer is ready early."""
    asking = exchanges(store, origin)
    pending = asking.decide(replace(request(), fields=Fields(fields)), client())
    assert isinstance(pending, Pending)
    early = list[Answer]()

    def ready(answer: Answer) -> bool:
        in_memory = store.hot(URL, "")
        assert in_memory is None or not in_memory.copies
        early.append(answer)
        return True

    pending.context.ready = ready
    answer = await asking.answer(pending)
    await ended(asking)
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


@pytest.mark.parametrize("sent", [True, False, None], ids=["sent early", "declined", "not offered"])
async def test_a_request_after_an_early_answer_is_a_hit_though_the_copy_is_still_being_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch, sent: bool | None
) -> None:
    goes_on, learn = asyncio.Event(), store.learn

    async def learn_later(seen: Observation) -> RecordChange:
        await goes_on.wait()
        return await learn(seen)

    monkeypatch.setattr(store, "learn", learn_later)
    origin = Origin(PAGE, length=len(PAGE))
    origin.has_arrived = origin.has_validator = True
    asked_twice = exchanges(store, origin)
    first = asked_twice.decide(request(), client())
    assert isinstance(first, Pending)
    if sent is not None:
        first.context.ready = lambda _: sent
    asking = asyncio.create_task(asked_twice.answer(first))
    await until(lambda: origin.taken)
    second = asyncio.create_task(answer_to(request(), client(), asked_twice))
    await asyncio.sleep(0.01)
    assert not second.done()
    goes_on.set()
    for answer, member in ((await asking, "stored"), (await second, "; hit" if sent else "; collapsed")):
        assert await content_of(answer) == PAGE
        assert member in (answer.head.fields.get("cache-status") or "")
    assert origin.asked == 1
    await ended(asked_twice)
