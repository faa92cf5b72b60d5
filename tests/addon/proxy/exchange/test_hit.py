"""Repeated hits: as long as one is repeated, deciding on the request gives the same answer and the same record."""

import math
import random
import weakref
from collections.abc import AsyncIterator
from dataclasses import astuple, replace
from typing import Any

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.engine.observation import SiteContact
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
URL = "http://example.org/page"
SITE = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)
RULES = load_config(None, {"state": "/nowhere"}).rules


class Proxy:
    """A store and its exchanges, with a clock that is moved, and what was recorded."""

    def __init__(self, clock: ManualClock, store: Store) -> None:
        self.clock, self.store = clock, store
        self.recorded = list[Answered]()
        origin: Any = None
        self.exchanges = Exchanges(
            clock, store, origin, RULES, SITE, self.recorded.append, counts_demand=lambda: True
        )
        self.client = tflow.tclient_conn()

    def put(self, chance: float = 1.0, content: bytes = b"x") -> None:
        """Store a copy that is received now."""
        now_s = self.clock.now()
        lines = [("Date", format_http_date(now_s)), ("ETag", '"a"'), ("Cache-Control", "max-age=600")]
        copy = Copy(URL, Head(200, Fields(lines), "OK"), BodyRef(content.hex(), len(content)), *(4 * [now_s]))
        self.store.put(copy.with_verdict(now_s + 300, "indttl", RULES.default.key, chance), content)

    def decide(self, *fields: tuple[str, str]) -> Answer | None:
        """The answer from memory."""
        decided = self.exchanges.decide(Request("GET", Target.parse(URL), Fields(fields)), self.client)
        return decided if isinstance(decided, Answer) else None

    def finished(self, answer: Answer) -> Answered:
        answer.finish(len(answer.body), complete=True)
        return self.recorded.pop()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    clock = ManualClock(NOW_S)
    store = await open_memory_store(clock=clock)
    made = Proxy(clock, store)
    yield made
    await made.exchanges.close()
    await store.close()


def rounded(record: Answered) -> tuple[object, ...]:
    return astuple(replace(record, ttl_s=round(record.ttl_s or 0.0, 6)))


async def test_what_is_repeated_is_what_would_be_decided(proxy: Proxy) -> None:
    """After random changes of time, copies, settings and siblings."""
    chosen = random.Random(1)
    changes = {
        "a moment": lambda: proxy.clock.advance(chosen.random() / 5),
        "a while": lambda: proxy.clock.advance(chosen.choice((1, 60, 301))),
        "the clock is set": lambda: proxy.clock.set(proxy.clock.now() - chosen.choice((0.3, 100))),
        "a copy": lambda: proxy.put(chosen.choice((0.5, 1.0)), chosen.choice((b"x", b"y"))),
        "invalidated": lambda: proxy.store.drop(URL),
        "settings": lambda: proxy.exchanges.reconfigured(RULES, replace(SITE, offline=chosen.random() < 0.5)),
        "covered": lambda: proxy.exchanges.covered(Coverage("c", 0, proxy.clock.now() + 1)),
        "a sibling": lambda: proxy.store.sites.contact(
            Copy("http://example.org/other", Head(200), BodyRef("d", 1), *(4 * [proxy.clock.now()])),
            SiteContact(proxy.clock.now() - 10, proxy.clock.now()),
        ),
    }
    repeated = total = 0
    answer: Answer | None = None
    for _ in range(600):
        for change in chosen.choices(["a moment", *changes], weights=[9, *(len(changes) * [1])]):
            changes[change]()
        fields = [("If-None-Match", '"a"')] if answer is not None and answer.head.status == 304 else []
        if answer is not None and answer.repeat is not None and answer.repeat.begin():
            answer.repeat.finish()
            again, repeated = proxy.decide(*fields), repeated + 1
            assert again is not None, change
            assert (again.head, again.body) == (answer.head, answer.body), change
            assert rounded(proxy.recorded.pop()) == rounded(proxy.finished(again)), change
        answer = proxy.decide(*chosen.choice(([], [("If-None-Match", '"a"')])))
        if answer is None:
            proxy.put()
        else:
            total += 1
            proxy.finished(answer)
    assert total / 3 < repeated < total * 2 / 3
    counted = dict(await proxy.store.top(1))[URL]
    assert counted == total + 2 * repeated
    assert proxy.store.planning.wants.counts.total() == counted


async def test_requests_that_a_store_or_the_time_may_answer_otherwise_are_not_repeated(proxy: Proxy) -> None:
    proxy.put()
    for field in (("Cache-Control", "max-age=5"), ("Range", "bytes=0-0"), ("Pragma", "no-cache-x")):
        answer = proxy.decide(field)
        assert answer is not None
        assert answer.repeat is None
    assert proxy.decide(("A-IM", "feed")) is None


async def test_a_kept_hit_does_not_keep_the_copies_that_memory_has_evicted(proxy: Proxy) -> None:
    """They may be 64 variants, whose content no bound would count."""
    proxy.put()
    proxy.clock.advance(0.5)
    answer = proxy.decide()
    in_memory = weakref.ref(proxy.store.hot(URL))
    assert answer is not None
    assert answer.repeat is not None
    assert answer.repeat.begin()
    proxy.finished(answer)

    proxy.store.leave_memory(None, math.inf)
    assert in_memory() is None
    assert not answer.repeat.begin()
