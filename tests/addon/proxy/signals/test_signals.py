"""What follows from a signal, on a store in memory."""

from dataclasses import replace

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.signals.evidence import SignalEvidence, SignalSource
from bestbefore.addon.engine.signals.listed import ListedPages
from bestbefore.addon.feeds.sitemap import ListedPage, Sitemap
from bestbefore.addon.proxy.signals import signals
from bestbefore.addon.proxy.signals.signals import ELSEWHERE, REASON, SITEMAP, WEBSUB, Signals
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.interface import Tombstone
from tests.addon.store.memory_backend import open_memory_store
from tests.addon.store.waiting import until

MAP, PAGE = "http://www.example.org/sitemap.xml", "http://www.example.org/a"
SOURCE = SignalSource("example.org", SITEMAP)


class Known:
    """Signals on a store with one page, contacted a minute ago."""

    def __init__(self, store, clock):
        self.now_s = clock.now()
        self.believed, self.counted = [], []
        self.signals = Signals(
            clock, store, lambda *one: self.believed.append(one), lambda *one: self.counted.append(one)
        )
        self.store = store

    async def contact(self, body, t_s):
        learnt = await self.store.learn(Observation(PAGE, t_s, "", Fingerprint(body=body)))
        self.signals.contacted(PAGE, learnt)

    async def read(self, *entries):
        await self.signals.listed(MAP, Sitemap(entries), ListedPages.of(entries), self.now_s)

    async def push(self, previous_s=0.0):
        await self.signals.announced(PAGE, self.now_s, WEBSUB, previous_s)

    async def expiry(self):
        (copy,) = (await self.store.copies(PAGE)).copies
        return copy.expiry_s, copy.reason


async def known():
    clock = RealClock()
    store = await open_memory_store(clock=clock, forget_after_s=1e12)
    one = Known(store, clock)
    at_s = one.now_s - 60
    times = dict.fromkeys(("request_time_s", "response_time_s", "stored_s", "current_s"), at_s)
    copy = Copy(PAGE, Head(200, Fields()), BodyRef("x", 1), **times)
    store.put(replace(copy, expiry_s=one.now_s + 3600, reason="indttl", sibling_chance=0.1), b"x")
    await one.contact("1", one.now_s - 60)
    return one


async def test_an_index_is_passed_on_with_the_sitemaps_that_it_lists() -> None:
    one, found = await known(), []
    one.signals.on_index = lambda *index: found.append(index)
    await one.signals.listed(MAP, Sitemap((), ("http://x/1",)), ListedPages.of(()), one.now_s)
    await one.read()
    assert found == [(MAP, ("http://x/1",))]


async def test_a_page_that_its_sitemap_says_has_changed_expires_and_is_fetched() -> None:
    one = await known()
    await one.read(ListedPage(PAGE, one.now_s - 30, one.now_s - 30), ListedPage("http://other/", one.now_s, one.now_s))
    expiry_s, reason = await one.expiry()
    assert (expiry_s <= RealClock().now(), reason) == (True, REASON)
    assert one.believed == [(PAGE, one.now_s - 30, SITEMAP)]
    await one.contact("2", one.now_s)
    seen = one.signals.evidence(PAGE, SITEMAP)
    assert (seen.right, seen.wrong, 0.0 < seen.expected < 1.0) == (1.0, 0.0, True)
    assert one.counted == [(SITEMAP, "believed"), (SITEMAP, "right")]


async def test_a_time_before_the_last_contact_says_nothing() -> None:
    one = await known()
    await one.read(ListedPage(PAGE, one.now_s - 90, one.now_s - 90))
    assert (one.believed, (await one.expiry())[1]) == ([], "indttl")


async def test_signals_that_lie_are_counted_and_not_believed() -> None:
    one = await known()
    one.signals.book.load({SOURCE: SignalEvidence(wrong=30.0)})
    await one.read(ListedPage(PAGE, one.now_s - 30, one.now_s - 30))
    assert (one.believed, (await one.expiry())[1]) == ([], "indttl")
    await one.contact("1", one.now_s + 1)
    assert one.counted == [(SITEMAP, "dropped"), (SITEMAP, "wrong")]


async def test_a_change_that_the_next_reading_does_not_announce_is_missed() -> None:
    one = await known()
    await one.read(ListedPage(PAGE, one.now_s - 900, one.now_s - 900))
    await one.contact("2", one.now_s - 20)
    await one.read(ListedPage(PAGE, one.now_s - 900, one.now_s - 900))
    assert one.signals.evidence(PAGE, SITEMAP) == SignalEvidence(missed=1.0)
    await one.contact("3", one.now_s - 10)
    await one.read(ListedPage(PAGE, one.now_s - 15, one.now_s - 15))
    assert one.signals.evidence(PAGE, SITEMAP) == SignalEvidence(right=1.0, missed=1.0, expected=1.0)


async def test_a_contact_that_began_before_a_push_neither_judges_nor_hides_it() -> None:
    one = await known()
    await one.push()
    (copy,) = (await one.store.copies(PAGE)).copies
    await one.contact("1", one.now_s - 1)
    one.store.put(replace(copy, expiry_s=one.now_s + 3600, reason="indttl", current_s=one.now_s - 1), None)
    await until(lambda: len(one.believed) == 2)
    assert (await one.expiry())[1] == REASON
    await one.contact("1", one.now_s - 0.5)
    await one.contact("2", one.now_s + 5)
    assert one.counted == [(WEBSUB, "believed"), (WEBSUB, "right")]


async def test_a_push_to_another_process_expires_what_a_contact_here_has_stored_since() -> None:
    one = await known()
    one.signals.pushed_elsewhere(PAGE, one.now_s, is_signed=True)
    await until(lambda: one.believed)
    assert (one.believed, (await one.expiry())[1]) == ([(PAGE, one.now_s, ELSEWHERE)], REASON)


async def test_a_push_that_comes_after_its_change_was_found_is_late_and_not_wrong() -> None:
    one = await known()
    one.signals.pushed_since(PAGE, one.now_s - 3600)
    await one.contact("2", one.now_s - 10)
    one.signals.judge_pushes({PAGE: one.now_s - 100})
    await one.push(previous_s=one.now_s - 100)
    one.signals.judge_pushes({PAGE: one.now_s})
    await one.contact("2", one.now_s + 5)
    assert one.counted == [(WEBSUB, "believed"), (WEBSUB, "late")]
    await one.push(previous_s=one.now_s)
    await one.contact("2", one.now_s + 10)
    assert one.counted[2:] == [(WEBSUB, "believed"), (WEBSUB, "wrong")], "the next one announces no change"


async def test_a_change_without_a_push_is_missed_a_minute_later(monkeypatch) -> None:
    one = await known()
    one.signals.pushed_since(PAGE, one.now_s - 3600)
    await one.contact("2", one.now_s - 10)
    one.signals.judge_pushes({})
    assert one.counted == []
    monkeypatch.setattr(signals, "LATE_S", 0.0)
    one.signals.judge_pushes({})
    assert one.counted == [(WEBSUB, "missed")]


async def test_evidence_is_shared_by_the_store_until_it_is_forgotten() -> None:
    one = await known()
    await one.read(ListedPage(PAGE, one.now_s - 30, one.now_s - 30))
    await one.contact("2", one.now_s)
    await one.signals.write()
    other = Signals(RealClock(), one.store)
    await other.write()
    assert other.evidence(PAGE, SITEMAP).right == 1.0
    other.forget(Tombstone(one.now_s, "*", exact=False, histories=True))
    await other.write()
    assert await one.store.signal_counts.read() == {}
