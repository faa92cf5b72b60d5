"""The sites in process: what the contacts of all processes have shown, those of this one at once.

A process publishes what it has learnt in batches, and adds what others publish. What it missed, it reads again.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from bestbefore.addon.engine.observation import SiteContact
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Backend
from bestbefore.addon.store.backend.keys import domain_of, host_of
from bestbefore.addon.store.cache.clean import is_writable
from bestbefore.addon.store.cache.faults import Faults, short, write_each
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.sites.keeper import SiteNews
from bestbefore.policies.validation.siblings.changes import SiteChange
from bestbefore.policies.validation.siblings.siblings import Siblings

SITES_KEPT = 512
"""How many sites are kept in memory, those used last; and how many may be pending, or due."""
EMPTY_KEPT = 8192
"""For how many sites it is known that the store has nothing."""
READ_AT_ONCE = 32
"""How many sites are read again between two batches of writes."""
LONGEST_URL = 2048
"""Objects with longer URLs are left out."""


@dataclass(slots=True)
class _Site:
    """A site in memory."""

    siblings: Siblings
    version: int | None
    """The version of the store that it contains; None if it was not read since the last connect."""


class Sites:
    """The siblings of objects by registrable domain."""

    def __init__(self, link: Link, faults: Faults) -> None:
        self._link = link
        self._faults = faults
        self._name = secrets.token_hex(8)
        self._sites: LRUCache[str, _Site] = LRUCache(SITES_KEPT)
        self._empty: LRUCache[str, None] = LRUCache(EMPTY_KEPT)
        self._pending: dict[str, Siblings] = {}
        """What was learnt here and is not published."""
        self._writing: dict[str, Siblings] = {}
        """What is being published."""
        self._due: dict[str, None] = {}
        """The sites that must be read, in order."""
        self._reading: dict[str, int] = {}
        """The sites that are being read, with the latest version that was published meanwhile."""
        link.backend.sites.on_news = self._receive

    def contact(self, copy: Copy, shown: SiteContact) -> None:
        """Learn from a contact that has stored or confirmed a copy."""
        if len(copy.url) > LONGEST_URL or not is_writable(copy.url):
            return
        domain = domain_of(host_of(copy.url))
        site = self._sites.get(domain)
        if site is None:
            is_empty = domain in self._empty
            self._empty.pop(domain, None)
            site = self._sites[domain] = _Site(Siblings(), 0 if is_empty else None)
            if not is_empty:
                self._read_soon(domain)
        lesson = site.siblings.contact(copy.url, shown.previous_s, shown.changed_s)
        if lesson is not None and (domain in self._pending or len(self._pending) < SITES_KEPT):
            self._pending.setdefault(domain, Siblings()).learn(lesson)
            self._link.wake()

    def outdating(self, copy: Copy) -> SiteChange | None:
        """Return the change of a sibling that has probably outdated a copy; None if none has."""
        domain = domain_of(host_of(copy.url))
        site = self._sites.get(domain)
        if site is None:
            if domain not in self._empty:
                self._read_soon(domain)
            return None
        return site.siblings.outdating(copy.url, copy.current_s, copy.sibling_chance)

    async def load(self, url: str) -> None:
        """Read the site of an object unless it is in memory."""
        domain = domain_of(host_of(url))
        if domain not in self._sites and domain not in self._empty and domain not in self._reading:
            await self._read(domain)

    # Other processes

    def _receive(self, news: SiteNews) -> None:
        """Add what a process has published. News arrive in the order of their versions."""
        domain, version = news.domain, news.version
        self._empty.pop(domain, None)
        if domain in self._reading:
            self._reading[domain] = version
        site = self._sites.get(domain)
        if site is None or site.version is None or version <= site.version:
            return
        if news.after != site.version:
            self._read_soon(domain)
            return
        site.version = version
        if news.by != self._name:
            site.siblings.join(news.siblings)

    def _read_soon(self, domain: str) -> None:
        if domain not in self._due and len(self._due) < SITES_KEPT:
            self._due[domain] = None
            self._link.wake()

    def reconnected(self) -> None:
        """Note that news may have been missed."""
        self._empty.clear()
        for domain, site in self._sites.items():
            site.version = None
            self._due[domain] = None

    async def read_due(self) -> None:
        """Read the sites that are due."""
        for domain in list(self._due)[:READ_AT_ONCE]:
            del self._due[domain]
            await self._read(domain)
        if self._due:
            self._link.wake()

    async def _read(self, domain: str) -> None:
        self._reading[domain] = 0
        try:
            kept = await self._link.read(lambda backend: backend.sites.read(domain))
        finally:
            published = self._reading.pop(domain, 0)
        if kept is None:
            return
        own = [part[domain] for part in (self._writing, self._pending) if domain in part]
        for siblings in own:
            kept.siblings.join(siblings)
        if kept.version or own:
            self._sites[domain] = _Site(kept.siblings, kept.version)
        else:
            self._sites.pop(domain, None)
            self._empty[domain] = None
        if published > kept.version:
            self._read_soon(domain)

    # Writing

    @property
    def waiting(self) -> int:
        """The number of sites of which something is not published."""
        return len(self._pending)

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether anything pending now is still pending."""
        pending = self._pending
        return lambda: self._pending is pending and bool(pending)

    async def write(self, backend: Backend) -> None:
        """Publish all that is pending. Raises UnavailableError, UnwritableError; it remains pending then."""
        batch, self._pending = self._pending, {}
        self._writing = batch

        async def publish(part: Sequence[tuple[str, Siblings]]) -> None:
            for domain, siblings in part:
                await backend.sites.add(SiteNews(domain, self._name, siblings))

        try:
            for (domain, _), error in await write_each(list(batch.items()), publish):
                self._faults.add("site", f"what is known of {short(domain)} cannot be written to the store: {error}")
        except BaseException:
            for domain, later in self._pending.items():
                batch.setdefault(domain, Siblings()).join(later)
            self._pending = batch
            raise
        finally:
            self._writing = {}

    def forget(self, matches: Callable[[str], bool]) -> None:
        """Remove the sites that have objects with such URLs."""
        for known in (self._pending, {domain: site.siblings for domain, site in self._sites.items()}):
            for domain in [domain for domain, siblings in known.items() if any(map(matches, siblings.names()))]:
                self._pending.pop(domain, None)
                self._sites.pop(domain, None)
