"""A backend in memory, and stores on it: for tests that need no server. Its data ends with the process."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from cachetools import LRUCache

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.rfc9111.caching.dictionaries import DictionaryCandidate
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.interface import (
    VARIANTS_KEPT,
    Body,
    Commit,
    GroupCounts,
    KeptCopy,
    LookUp,
    Put,
    Tombstone,
    UnavailableError,
    Versioned,
)
from bestbefore.addon.store.backend.keeper_memory import MemoryKeeper
from bestbefore.addon.store.backend.keys import CopyKey, host_in, variant_of
from bestbefore.addon.store.backend.unlinked import whole
from bestbefore.addon.store.cache.clock_check import ClockState
from bestbefore.addon.store.cache.gains import NO_COUNTS, total
from bestbefore.addon.store.cache.tombstones import TOMBSTONES_AT_MOST, TOMBSTONES_KEPT_S
from bestbefore.addon.store.contacts.keeper import AskedLease, BegunContact, ContactName, EndedLease
from bestbefore.addon.store.counts.copy_counts import CopyCounts, joined
from bestbefore.addon.store.opening import HOT_MAX
from bestbefore.addon.store.search_index import SearchIndex
from bestbefore.addon.store.sites.keeper import KeptSite, SiteNews
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.siblings.siblings import Siblings

MAX_BYTES = 1 << 30


@dataclass(slots=True)
class _Kept:
    """The copies of one URL."""

    copies: dict[str, Copy] = field(default_factory=dict)
    """By variant, in the order of storing."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    until_s: float = 0.0
    """When they expire, by the monotonic clock."""


class MemorySites:
    """A `SiteKeeper` in memory."""

    def __init__(self) -> None:
        self.on_news: Callable[[SiteNews], None] = lambda _: None
        self._kept: dict[str, KeptSite] = {}

    async def read(self, domain: str) -> KeptSite:
        version, known = self._kept.get(domain, KeptSite(0, Siblings()))
        copied = Siblings()
        copied.join(known)
        return KeptSite(version, copied)

    async def add(self, news: SiteNews) -> None:
        version, known = await self.read(news.domain)
        known.join(news.siblings)
        self._kept[news.domain] = KeptSite(version + 1, known)
        self.on_news(news._replace(version=version + 1, after=version))

    async def forget(self, matches: Callable[[str], bool]) -> None:
        for domain, known in list(self._kept.items()):
            if any(map(matches, known.siblings.names())):
                del self._kept[domain]
                self.on_news(SiteNews(domain, "", Siblings(), known.version + 1, -1))


class MemoryContacts:
    """A `ContactKeeper` in memory: there is no other process."""

    def __init__(self) -> None:
        self.on_awaited: Callable[[str], None] = lambda _: None
        self.on_ended: Callable[[str, bool, float | None], None] = lambda _digest, _is_shareable, _received_s: None

    async def begin(self, name: ContactName, token: str, lease_s: float) -> BegunContact:
        return BegunContact(True, lease_s, [], 0.0)

    async def renew(self, leases: Sequence[tuple[ContactName, str]], lease_s: float) -> None:
        """Do nothing: no lease ends by itself."""

    async def end(self, leases: Sequence[EndedLease]) -> None:
        """Do nothing: none is kept."""


class NoReplacements:
    """Announcements to other proxies, of which there are none."""

    def __init__(self) -> None:
        self.on_replaced: Callable[[Collection[str]], object] = lambda _: None

    async def announce(self, urls: Collection[str]) -> None:
        """Do nothing: there is nobody."""


class MemoryBackend:
    """A `Backend` in memory. The least recently used copies are removed."""

    def __init__(self, clock: Clock, *, max_bytes: int) -> None:
        """Create an empty backend. `max_bytes`: the bound on the size of copies."""
        self._clock = clock
        self.keeper = MemoryKeeper(clock)
        self.sites = MemorySites()
        self.contacts = MemoryContacts()
        self.replaced = NoReplacements()
        self._records: dict[str, Versioned] = {}
        self._versions = count(1)
        self._counts: dict[str, GroupCounts] = {}
        self._kept: LRUCache[str, _Kept] = LRUCache(max_bytes, getsizeof=_size_bytes)
        self._searches = SearchIndex()
        self._invalidated_s: dict[str, float] = {}
        self._tombstones: list[Tombstone] = []
        self._requests: Counter[str] = Counter()
        self._demands: dict[CopyKey, CopyCounts] = {}
        self._stale: dict[str, dict[int, list[int]]] = {}
        self._clock_state: ClockState | None = None
        self._positions: dict[str, bytes] = {}

    async def connect(
        self, on_tombstone: Callable[[Tombstone], None], on_lost: Callable[[UnavailableError], None]
    ) -> None:
        """Do nothing: there is no connection, and no other process."""

    async def close(self) -> None:
        """Do nothing: no resources are held."""

    # Histories

    async def records(self, urls: Sequence[str]) -> list[Versioned]:
        return [self._records.get(url, Versioned()) for url in urls]

    async def commit(self, commits: Sequence[Commit]) -> list[bytes | Versioned]:
        return [self._commit(commit) for commit in commits]

    def _commit(self, commit: Commit) -> bytes | Versioned:
        found = self._records.get(commit.url, Versioned())
        if found.version != commit.expected:
            return found
        for label, gain in commit.gains.items():
            self._gain(label, gain)
        if commit.record is None:
            self._records.pop(commit.url, None)
            return b""
        version = b"%d" % next(self._versions)
        self._records[commit.url] = Versioned(version, commit.record)
        return version

    def _gain(self, label: str, gain: GroupCounts) -> None:
        self._counts[label] = total([self._counts.get(label, NO_COUNTS), gain])

    # Copies

    def _living(self, url: str) -> _Kept | None:
        kept = self._kept.get(url)
        if kept is not None and kept.until_s < self._clock.monotonic():
            del self._kept[url]
            return None
        return kept

    async def copies(self, url: str) -> list[KeptCopy]:
        kept = self._living(url)
        return [KeptCopy(copy) for copy in kept.copies.values()] if kept else []

    async def look_up(self, url: str, *, copies: bool, lease: AskedLease | None = None) -> LookUp:
        (record,) = await self.records([url])
        known = await self.copies(url)
        lease_time_s = self._clock.now() if lease is not None and (lease.despite_copies or not known) else None
        return LookUp(record, known if copies else None, await self.equivalent(url), lease_time_s)

    async def equivalent(self, url: str) -> str | None:
        return self._searches.find(url, "")

    async def dictionaries(self, origin: str) -> list[DictionaryCandidate]:
        found = (DictionaryCandidate.of(copy) for kept in self._kept.values() for copy in kept.copies.values())
        return [one for one in found if one is not None and Target.parse(one.url).origin == origin]

    async def body(self, copy: Copy) -> Body | None:
        kept = self._living(copy.url)
        return kept.bodies.get(copy.body.digest) if kept else None

    async def use(self, bodies: Sequence[BodyRef]) -> None:
        """Do nothing: there are no files."""

    async def put(self, puts: Sequence[Put], applied: int = 0) -> None:
        for put in puts:
            self._put(put)

    def _put(self, put: Put) -> None:
        copy, variant = put.copy, variant_of(put.copy)
        if copy.stored_s < self._invalidated_s.get(copy.url, copy.stored_s):
            return
        before = self._living(copy.url) or _Kept()
        if variant in before.copies and before.copies[variant].was_received_after(copy, self._clock.now()):
            return
        self._searches.add(copy)
        copies = {name: other for name, other in before.copies.items() if name != variant}
        bodies = dict(before.bodies)
        if put.body is not None:
            bodies[copy.body.digest] = whole(put.body)
        if copy.body.digest in bodies:
            copies[variant] = copy
        if len(copies) > VARIANTS_KEPT:
            del copies[min(copies, key=lambda name: copies[name].stored_s)]
        self._keep(copy.url, copies, bodies, max(before.until_s, self._clock.monotonic() + put.ttl_s))

    def _keep(self, url: str, copies: dict[str, Copy], bodies: dict[str, bytes], until_s: float) -> None:
        used = {copy.body.digest for copy in copies.values()}
        kept = _Kept(copies, {digest: body for digest, body in bodies.items() if digest in used}, until_s)
        self._kept.pop(url, None)
        if copies and _size_bytes(kept) <= self._kept.maxsize:
            self._kept[url] = kept

    async def remove(self, urls: Sequence[str], tombstone: Tombstone) -> int:
        return sum(self._remove(url, tombstone.time_s) for url in urls)

    def _remove(self, url: str, until_s: float) -> bool:
        kept = self._living(url)
        if kept is None:
            return False
        copies = {name: copy for name, copy in kept.copies.items() if copy.stored_s > until_s}
        self._keep(url, copies, kept.bodies, kept.until_s)
        return len(copies) < len(kept.copies)

    # Tombstones

    async def add_tombstones(self, tombstones: Sequence[Tombstone], applied: int = 0) -> list[Tombstone]:
        oldest_s = self._clock.now() - TOMBSTONES_KEPT_S
        self._tombstones = sorted(t for t in (*self._tombstones, *tombstones) if t.time_s > oldest_s)
        self._tombstones = self._tombstones[-TOMBSTONES_AT_MOST:]
        self._invalidated_s = {url: time_s for url, time_s in self._invalidated_s.items() if time_s > oldest_s}
        for tombstone in tombstones:
            if tombstone.exact:
                earlier_s = self._invalidated_s.get(tombstone.pattern, tombstone.time_s)
                self._invalidated_s[tombstone.pattern] = max(earlier_s, tombstone.time_s)
                self._remove(tombstone.pattern, tombstone.time_s)
                for url, kept in list(self._kept.items()):
                    if any(tombstone.pattern in copy.groups for copy in kept.copies.values()):
                        self._remove(url, tombstone.time_s)
        return list(tombstones)

    async def last_tombstone(self) -> int:
        return 0

    async def tombstones(self) -> list[Tombstone]:
        return list(self._tombstones)

    # Counts

    async def counts(self, belongs: Callable[[str], bool], domain: str | None) -> GroupCounts:
        return total(
            counts
            for label, counts in self._counts.items()
            if domain in (None, registrable_domain(host_in(label))) and belongs(label)
        )

    async def tally(self, requests: Mapping[str, int]) -> None:
        self._requests.update(requests)

    async def demand(self, key: CopyKey) -> CopyCounts | None:
        return self._demands.get(key)

    async def add_demand(self, counts: Mapping[CopyKey, CopyCounts]) -> None:
        for key, demand in counts.items():
            known = self._demands.get(key)
            is_valid = known is not None and known.demand.at_s <= self._clock.now() + CLOCK_SKEW_S
            self._demands[key] = joined(known, demand) if known is not None and is_valid else demand
            of_url = [one for one in self._demands if one.url == key.url]
            if len(of_url) > VARIANTS_KEPT:
                del self._demands[min(of_url, key=lambda one: self._demands[one].demand.at_s)]

    async def forget_demand(self, matches: Callable[[str], bool]) -> None:
        self._demands = {key: demand for key, demand in self._demands.items() if not matches(key.url)}

    async def stale_sums(self, group: str) -> Mapping[int, Sequence[int]]:
        return self._stale.get(group, {})

    async def add_stale_sums(self, sums: Mapping[str, Mapping[int, Sequence[int]]]) -> None:
        for group, of_periods in sums.items():
            kept = self._stale.setdefault(group, {})
            for period, amounts in of_periods.items():
                before = kept.get(period, [0] * len(amounts))
                kept[period] = [a + b for a, b in zip(before, amounts, strict=True)]

    async def top(self, n: int, text: str = "") -> list[tuple[str, int]]:
        found = [(url, count) for url, count in self._requests.items() if text.lower() in url.lower()]
        return sorted(found, key=lambda pair: (pair[1], pair[0]), reverse=True)[:n]

    async def requested(self) -> AsyncIterator[list[str]]:
        yield list(self._requests)

    async def uncount(self, urls: Sequence[str]) -> None:
        for url in urls:
            self._requests.pop(url, None)

    # Sweeps

    async def recorded(self) -> AsyncIterator[list[tuple[str, float]]]:
        yield [(url, known.record.last_contact_s) for url, known in self._records.items() if known.record]

    async def copied(self) -> AsyncIterator[list[str]]:
        yield [url for url in list(self._kept) if self._living(url) is not None]

    async def clock_state(self) -> ClockState | None:
        return self._clock_state

    async def put_clock_state(self, state: ClockState) -> None:
        self._clock_state = state

    async def position(self, channel: str) -> bytes | None:
        return self._positions.get(channel)

    async def put_position(self, channel: str, position: bytes) -> None:
        self._positions[channel] = position

    async def position_unless(self, channel: str, digest: str) -> bytes | None:
        kept = self._positions.get(channel, b"")
        return None if hashlib.sha1(kept, usedforsecurity=False).hexdigest() == digest else kept

    async def swap_position(self, channel: str, digest: str, position: bytes) -> bool:
        if await self.position_unless(channel, digest) is not None:
            return False
        self._positions[channel] = position
        return True

    async def take_sweep(self, interval_s: float) -> bool:
        return True

    async def tidy(self) -> None:
        for url in list(self._kept):
            self._living(url)

    @property
    def corrupt_entries(self) -> Mapping[str, int]:
        return {}

    @property
    def size_bytes(self) -> int | None:
        return int(self._kept.currsize)


def _size_bytes(kept: _Kept) -> int:
    return 2048 * len(kept.copies) + sum(map(len, kept.bodies.values()))


async def open_memory_store(
    *,
    clock: Clock,
    hot_max: int = HOT_MAX,
    keep_s: float = 7 * DAY_S,
    forget_after_s: float = 180 * DAY_S,
    forgotten: Callable[[Tombstone], None] = lambda _: None,
) -> Store:
    """Open a store as `open_store` does."""
    store = Store(
        MemoryBackend(clock, max_bytes=MAX_BYTES),
        clock=clock,
        hot_max=hot_max,
        keep_s=keep_s,
        forget_after_s=forget_after_s,
        forgotten=forgotten,
    )
    await store.open()
    return store
