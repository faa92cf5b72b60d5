"""What follows from signals: copies are validated early and fetched sooner; contacts judge them."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.signals.evidence import SignalEvidence, SignalSource, own_chance
from bestbefore.addon.engine.signals.links import DeclaredHubs
from bestbefore.addon.engine.signals.listed import ListedPages, says_changed
from bestbefore.addon.feeds.sitemap import Sitemap
from bestbefore.addon.proxy.signals.pending import SignalBook
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.cache.tombstones import matcher_of
from bestbefore.addon.store.store import Store

SITEMAP, WEBSUB = "sitemap", "websub"
ELSEWHERE = "a push to another process"
"""The kind of a signal that another process has announced to all."""
REASON = "signal"
"""The reason of an expiry that a signal has advanced."""
PAGES_KEPT = 500_000
"""How many pages of sitemaps are remembered (24 bytes each), in those read last."""
UNPUSHED_KEPT = 4096
"""How many changes without a push wait for it to be known."""
LEAST_COUNTED = 500
"""A shorter sitemap counts as this many pages, so that there are at most a thousand: each change looks for its own."""
LATE_S = 60.0
"""How long after a change was found a push of it may come, in real seconds."""
REPEAT_S = 1.0
"""How long after a contact a signal that came during it is acted upon again, in real seconds."""
MOST_ACTED_UPON = 1000
"""How many signals that came during a contact, or to another process, are acted upon at a time."""
WRITE_INTERVAL_S = 60.0
"""How often the evidence is written to the store and read from it, in real seconds."""


@dataclass(slots=True, eq=False)
class Signals:
    """The signals of all origins, at one worker."""

    clock: Clock
    store: Store
    on_believed: Callable[[str, float | None, str], object] = lambda _url, _at_s, _kind: None
    """Called with each signal that is believed: URL, time of the update if known, kind."""
    on_signal: Callable[[str, str], object] = lambda _kind, _result: None
    """Called with kind and what became of each signal, as labels of metrics."""
    on_hub: Callable[[str, DeclaredHubs], object] = lambda _url, _hub: None
    """Called with each object that declares a hub, and which."""
    on_index: Callable[[str, tuple[str, ...]], object] = lambda _url, _sitemaps: None
    """Called with each index of sitemaps, and those that it lists."""
    on_forgotten: Callable[[Callable[[str], bool]], object] = lambda _matches: None
    """Called with what matches the URLs of forgotten objects."""
    book: SignalBook = field(default_factory=SignalBook)
    _listed: LRUCache[str, ListedPages] = field(init=False)
    """By the URL of the sitemap."""
    _pushed_since: dict[str, float] = field(init=False, default_factory=dict)
    """Since when the changes of objects are pushed, by URL; as many as there are subscriptions."""
    _unpushed: dict[str, tuple[float, float]] = field(init=False, default_factory=dict)
    """Changes found without a push: URL, since when it lies, and when it was found, in real seconds."""
    _acting: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    """What acts upon signals that came during a contact, or to another process."""
    _gone: set[str] = field(init=False, default_factory=set)
    """Sites that were forgotten since the last write."""

    def __post_init__(self) -> None:
        self._listed = LRUCache(PAGES_KEPT, getsizeof=lambda pages: max(len(pages), LEAST_COUNTED))

    async def listed(self, url: str, sitemap: Sitemap, pages: ListedPages, t_s: float) -> None:
        """Take what a sitemap, or an index, says of the pages of its own host, as of t."""
        if sitemap.sitemaps:
            self.on_index(url, sitemap.sitemaps)
        before, host = self._listed.get(url), host_of(url)
        for page, after_s in self.book.awaited(url):
            by_s = pages.by(page)
            announced = by_s is not None and by_s > after_s
            self.book.recalled(SignalSource(registrable_domain(host), SITEMAP), announced=announced)
            self.on_signal(SITEMAP, "late" if announced else "missed")
        if len(pages) < PAGES_KEPT:
            self._listed[url] = pages
        for entry in pages.news(before, sitemap.entries, t_s):
            try:
                target = Target.parse(entry.url)
            except ValueError:
                continue
            if target.host != host:
                continue
            record = await self.store.record(target.url)
            moved = before is not None and before.by(entry.url) is not None
            if record is not None and says_changed(entry, record.last_contact_s, moved=moved):
                at_s = entry.by_s if entry.after_s == entry.by_s else None
                await self.announced(target.url, at_s, SITEMAP)

    async def announced(self, url: str, at_s: float | None, kind: str, previous_s: float = math.inf) -> None:
        """Take a signal that an object has changed, at a time if it is known; a later contact judges it.

        `previous_s`: when the signal before it came. A change found since then, shortly before this signal, may be
        what it announces.
        """
        source, now_s = SignalSource(registrable_domain(host_of(url)), kind), self.clock.now()
        record = await self.store.record(url) if previous_s < math.inf else None
        last = record.updates[-1] if record is not None and record.updates else None
        may_be_known = (
            last is not None and last.after_s >= previous_s and self.clock.to_real_s(now_s - last.by_s) <= LATE_S
        )
        self.book.signalled(url, source, at_s, now_s, may_be_known=may_be_known)
        if self.book.of(source).is_dropped:
            self.on_signal(kind, "dropped")
            return
        self.on_signal(kind, "believed")
        await self._act(url, source, at_s, now_s if at_s is None else at_s, kind)

    async def _act(self, url: str, source: SignalSource, at_s: float | None, outdated_s: float, kind: str) -> None:
        """Let the copies expire that were current before `outdated_s`, and fetch the object soon."""
        evidence, now_s = self.book.of(source), self.clock.now()
        for copy in (await self.store.copies(url)).copies:
            believes = evidence.precision >= copy.sibling_chance  # what the policy tolerates of any such news
            if believes and copy.expiry_s is not None and copy.expiry_s > now_s and copy.current_s < outdated_s:
                self.store.put(replace(copy, expiry_s=now_s, reason=REASON), None)
        self.on_believed(url, at_s, kind)

    async def _repeat(self, url: str) -> None:
        """Act upon a signal again once the contact during which it came has stored what it fetched."""
        await asyncio.sleep(REPEAT_S)
        pending = self.book.pending(url)
        if pending is not None and not self.book.of(pending.source).is_dropped:
            outdated_s = pending.since_s if pending.at_s is None else pending.at_s
            await self._act(url, pending.source, pending.at_s, outdated_s, pending.source.kind)

    def contacted(self, url: str, learnt: RecordChange) -> None:
        """Judge by a contact."""
        if not learnt.applied:
            return
        record, changed = learnt.record, learnt.changed
        last = record.updates[-1] if record.updates else None
        verdict = self.book.contacted(
            url, record.last_contact_s + record.clock_behind_s, changed=changed, chance=own_chance(learnt),
            update_s=-math.inf if last is None else last.by_s,
        )  # fmt: skip
        if verdict is not None:
            if verdict.is_right is not None:
                self.on_signal(verdict.source.kind, "right" if verdict.is_right else "wrong")
            return
        if len(self._acting) < MOST_ACTED_UPON and self.book.overtaken(url):
            self._spawn(self._repeat(url))
        if not (changed and learnt.new_updates_s and last is not None):
            return
        since_s = self._pushed_since.get(url)
        if since_s is not None:
            if last.after_s >= since_s and len(self._unpushed) < UNPUSHED_KEPT:
                self._unpushed[url] = last.after_s, self.clock.monotonic()
        elif self._listed:
            host = host_of(url)
            listing = next((u for u, pages in self._listed.items() if host_of(u) == host and pages.by(url)), None)
            if listing is not None:
                self.book.unannounced(url, listing, last.after_s)

    def pushed_since(self, url: str, since_s: float | None) -> None:
        """Record since when the changes of an object are pushed; None: they are not."""
        if since_s is None:
            self._pushed_since.pop(url, None)
        else:
            self._pushed_since[url] = since_s

    def pushed_elsewhere(self, url: str, pushed_s: float, *, is_signed: bool) -> None:
        """Take a push that another process has received.

        That has let the copies in the store expire; but a contact of this one may have stored another since.
        """
        source, at_s = SignalSource(registrable_domain(host_of(url)), WEBSUB), pushed_s if is_signed else None
        self.store.leave_memory(url, pushed_s)
        if url in self._unpushed:
            return  # it announces what a contact here has found already
        self.book.signalled(url, source, at_s, self.clock.now())
        if not self.book.of(source).is_dropped and len(self._acting) < MOST_ACTED_UPON:
            self._spawn(self._act(url, source, at_s, pushed_s, ELSEWHERE))

    def _spawn(self, acting: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(acting)
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)

    def judge_pushes(self, last_push_s: Mapping[str, float]) -> None:
        """Judge changes that were found before a push: it may be late, or have come to another process.

        To be called each second. `last_push_s`: when the last push of each object came to any process.
        """
        until_s = self.clock.monotonic() - LATE_S
        for url, (after_s, found_s) in list(self._unpushed.items()):
            announced = last_push_s.get(url, 0.0) > after_s
            if announced or found_s <= until_s:
                del self._unpushed[url]
                self.book.recalled(SignalSource(registrable_domain(host_of(url)), WEBSUB), announced=announced)
                self.on_signal(WEBSUB, "late" if announced else "missed")

    def is_pushed(self, url: str) -> bool:
        """Whether the changes of an object are pushed to this process."""
        return url in self._pushed_since

    def evidence(self, url: str, kind: str) -> SignalEvidence:
        """Return what is known of the signals of one kind for an object."""
        return self.book.of(SignalSource(registrable_domain(host_of(url)), kind))

    def forget(self, tombstone: Tombstone) -> None:
        """Remove what is known of the sites of forgotten objects. Raises ValueError for a pattern it cannot read."""
        if not tombstone.histories:
            return
        matches = matcher_of(tombstone)
        self.on_forgotten(matches)
        for site in {source.site for source in self.book.evidence}:
            if matches(f"http://{site}/") or matches(f"https://{site}/"):
                self.book.forget(site)
                self._gone.add(site)
        for url in [url for url in self._listed if matches(url)]:
            del self._listed[url]

    async def keep(self) -> None:
        """Exchange the evidence with the store regularly, until cancelled."""
        while True:
            await self.write()
            await asyncio.sleep(WRITE_INTERVAL_S)

    async def write(self) -> None:
        """Write what was judged since the last time, and read what others have."""
        more, gone = self.book.take_unwritten(), frozenset(self._gone)
        self._gone.clear()
        if more or gone:
            await self.store.signal_counts.add(more, gone)
        self.book.load(await self.store.signal_counts.read())
