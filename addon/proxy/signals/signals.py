"""What follows from signals: copies are validated early and fetched sooner; contacts judge them."""

import asyncio
import math
from collections.abc import Callable, Mapping
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
    _unpushed: dict[str, float] = field(init=False, default_factory=dict)
    """Changes found without a push, since the last `judge_pushes`: URL, since when it lies."""
    _unjudged: dict[str, float] = field(init=False, default_factory=dict)
    """Those before, which the next one judges."""
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

    async def announced(self, url: str, at_s: float | None, kind: str) -> None:
        """Take a signal that an object has changed, at a time if it is known; the next contact judges it."""
        source = SignalSource(registrable_domain(host_of(url)), kind)
        evidence = self.book.of(source)
        self.book.signalled(url, source, at_s)
        if evidence.is_dropped:
            self.on_signal(kind, "dropped")
            return
        now_s = self.clock.now()
        for copy in (await self.store.copies(url)).copies:
            believes = evidence.precision >= copy.sibling_chance  # what the policy tolerates of any such news
            if believes and copy.expiry_s is not None and copy.expiry_s > now_s and copy.current_s < (at_s or now_s):
                self.store.put(replace(copy, expiry_s=now_s, reason=REASON), None)
        self.on_signal(kind, "believed")
        self.on_believed(url, at_s, kind)

    def contacted(self, url: str, learnt: RecordChange) -> SignalSource | None:
        """Judge by a contact; return the source of the signal that it has judged, None if there was none."""
        if not learnt.applied:
            return None
        update_s = learnt.record.updates[-1].by_s if learnt.record.updates else -math.inf
        source = self.book.contacted(url, changed=learnt.changed, chance=own_chance(learnt), update_s=update_s)
        since_s = self._pushed_since.get(url)
        if source is None and since_s is not None and learnt.changed and learnt.new_updates_s:
            if learnt.record.updates[-1].after_s >= since_s and len(self._unpushed) < UNPUSHED_KEPT:
                self._unpushed[url] = learnt.record.updates[-1].after_s
            return None
        if source is not None and learnt.changed is not None:
            self.on_signal(source.kind, "right" if learnt.changed else "wrong")
        if source is None and learnt.changed and learnt.new_updates_s and self._listed:
            host = host_of(url)
            listing = next((u for u, pages in self._listed.items() if host_of(u) == host and pages.by(url)), None)
            if listing is not None:
                self.book.unannounced(url, listing, learnt.record.updates[-1].after_s)
        return source

    def pushed_since(self, url: str, since_s: float | None) -> None:
        """Record since when the changes of an object are pushed; None: they are not."""
        if since_s is None:
            self._pushed_since.pop(url, None)
        else:
            self._pushed_since[url] = since_s

    def pushed_elsewhere(self, url: str, pushed_s: float, *, is_signed: bool) -> None:
        """Take a push that another process has received, and for which it has let the copies in the store expire."""
        source, at_s = SignalSource(registrable_domain(host_of(url)), WEBSUB), pushed_s if is_signed else None
        self.store.leave_memory(url, pushed_s)
        if url in self._unpushed or url in self._unjudged:
            return  # it announces what a contact here has found already
        self.book.signalled(url, source, at_s)
        if not self.book.of(source).is_dropped:
            self.on_believed(url, at_s, ELSEWHERE)

    def judge_pushes(self, last_push_s: Mapping[str, float]) -> None:
        """Judge changes that were found before a push: it may have come to another process. To be called each second.

        `last_push_s`: when the last push of each object came to any process.
        """
        judged, self._unpushed, self._unjudged = self._unjudged, {}, self._unpushed
        for url, after_s in judged.items():
            announced = last_push_s.get(url, 0.0) > after_s
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
