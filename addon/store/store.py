"""The interface of the store to the rest of the proxy."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from bestbefore.addon.clock import Clock
from bestbefore.addon.engine.learning import Record, RecordChange
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.codec import encode_record
from bestbefore.addon.store.backend.interface import Backend, Body, CopySet, GroupCounts, Tombstone, UnavailableError
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.backup.entries import Entry, SavedRecord
from bestbefore.addon.store.cache.copies import Copies
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.groups import Groups, LabelFilter
from bestbefore.addon.store.cache.histories import Histories
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices, log
from bestbefore.addon.store.cache.pending_counts import PendingCounts
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.cache.replacements import Replacements
from bestbefore.addon.store.cache.sweep import Sweep
from bestbefore.addon.store.cache.tombstones import (
    Tombstones,
    forgets,
    matcher,
    matcher_of,
    names_one,
)
from bestbefore.addon.store.cache.write_behind import WriteBehind
from bestbefore.addon.store.contacts.keeper import ContactName
from bestbefore.addon.store.contacts.leases import ContactLease, ContactLeases
from bestbefore.addon.store.counts.demand_counts import DemandCounts
from bestbefore.addon.store.counts.stale_counts import StaleCounts
from bestbefore.addon.store.invalidation import Invalidation
from bestbefore.addon.store.positions import Positions
from bestbefore.addon.store.signal_counts import SignalCounts
from bestbefore.addon.store.sites.sites import Sites
from bestbefore.addon.store_status import StoreStatus


class Store:
    """Copies, histories and counts. Changes apply in process at once, and are written to the backend behind."""

    def __init__(
        self,
        backend: Backend,
        *,
        clock: Clock,
        hot_max: int,
        keep_s: float,
        forget_after_s: float,
        store_max: int | None = None,
        forgotten: Callable[[Tombstone], None] = lambda _: None,
        has_peers: bool = False,
    ) -> None:
        """Create a store on a backend.

        `store_max`: how many bytes may be stored; None if the backend bounds itself. `forgotten` is called with each
        tombstone of any process that removes histories, possibly more than once. `has_peers`: this is, or may be, one
        of several processes on the backend, which find what the others store at once, and share contacts.
        """
        self._clock = clock
        self.notices = Notices()
        self._link = Link(backend, clock, self.notices)
        self._faults = faults = Faults(clock.monotonic)
        self._tombstones = Tombstones(faults)
        self._histories = Histories(
            self._link, self._tombstones, self.notices, faults, lambda label, gain: self._groups.gained(label, gain)
        )
        self.replacements = Replacements()
        self._copies = Copies(
            self._link, clock, self._tombstones, self.notices, faults, hot_max=hot_max, keep_s=keep_s,
            store_max=store_max, has_peers=has_peers, replacements=self.replacements,
        )  # fmt: skip
        self.contact_leases = ContactLeases(self._link, self._copies, clock.monotonic, has_peers=has_peers)
        self.sites = Sites(self._link, faults)
        self._groups = Groups(self._link, clock, self._histories.waiting_gain)
        self._requests = PendingCounts[str](faults, "requests", "requests of", str, self._tally)
        self.stale = StaleCounts(self._link, faults, clock.monotonic)
        self.demand = DemandCounts(self._link, faults, clock.monotonic, self.stale)
        self.invalidation = Invalidation(
            self._link,
            clock,
            faults,
            self._tombstones,
            self._copies,
            self._histories,
            self._requests,
            self.demand,
            self._groups,
            self.sites,
            forgotten,
        )
        self.positions = Positions(self._link)
        self.signal_counts = SignalCounts(self._link)
        self.planning = Planning(self._link, clock, faults)
        counts = (self._requests, self.planning.wants, self.demand, self.stale)
        stored = (self._tombstones, self._histories, self._copies, self.contact_leases, self.sites)
        self._parts = parts = (*stored, *counts)
        self._write_behind = WriteBehind(
            self._link,
            self.notices,
            faults,
            clock.monotonic,
            parts,
            self.invalidation.connect,
            self._read_due,
            has_peers=has_peers,
        )
        self._sweep = Sweep(self._link, clock, self._write_behind.writing, self._tombstones, forget_after_s)
        self._closed = False
        # Called for each request: bound here to save a hit one function call.
        self.hot = self._copies.hot
        self.take_replaced = backend.replaced.on_replaced = self._copies.take_replaced
        self.equivalent = self._copies.equivalent
        self.dictionaries = self._copies.dictionaries

    # Life

    async def open(self, *, sweep: bool = True) -> None:
        """Connect to the backend, without waiting for one that is down. Raises StoreInputError.

        `sweep`: whether this process removes old and unreferenced data.
        """
        await self._write_behind.start()
        if sweep:
            self._sweep.start()

    async def flush(self) -> bool:
        """Write all pending entries; False if that failed."""
        return await self._write_behind.flush()

    async def close(self) -> None:
        """Write all pending entries, and close the backend. Repeated calls do nothing."""
        if self._closed:
            return
        self._closed = True
        await self._sweep.close()
        self.contact_leases.close()
        await self._write_behind.close()
        if self._histories.waiting:
            log.warning("%d observations could not be written to the store and are lost", self._histories.waiting)
        await self._link.backend.close()

    def status(self) -> StoreStatus:
        return StoreStatus(
            down=self._link.down,
            last_error=self._link.last_error,
            conditions=self.notices.active(),
            pending_observations=self._histories.waiting,
            pending_copies=self._copies.waiting,
            pending_copies_bytes=self._copies.waiting_bytes,
            dropped_observations=self._histories.lost,
            write_lag_s=self._write_behind.lag_s,
            write_errors=self._faults.counts,
            corrupt_entries=self._link.backend.corrupt_entries,
            dropped_copies=self._copies.refused,
            memory_cache_bytes=self._copies.hot_bytes,
            store_bytes=self._link.backend.size_bytes,
        )

    def health(self) -> dict[str, object]:
        """Return the report for /healthz: `degraded` while nothing can be written. The proxy continues to serve."""
        status = self.status()
        store = "down" if status.down else "failing" if status.write_lag_s else "ok"
        return {
            "status": "degraded" if status.write_lag_s else "ok",
            "store": store,
            "write_lag_s": round(status.write_lag_s, 1),
            "pending": sum(part.waiting for part in self._parts),
            "write_errors": sum(status.write_errors.values()),
        }

    async def _read_due(self) -> None:
        await self._groups.read_due()
        await self.sites.read_due()

    # Copies

    async def copies(self, url: str, partition: str = "") -> CopySet:
        """Return the variants of an object that are available now."""
        await self.sites.load(url)
        return await self._copies.copies(url, partition)

    async def look_up(
        self, url: str, partition: str = "", *, copies: bool, lease: ContactName | None = None
    ) -> tuple[CopySet | None, str | None, ContactLease | None]:
        """Read what a contact needs of an object, with one round trip: its record too, for `learn`.

        Returns its variants (None without `copies`), another URL with a copy that probably answers, as `equivalent`
        does, and the lease of the contact of this name, if one is likely and it could be taken: it must be ended.
        """
        await self.sites.load(url)
        held = self.hot(url, partition)
        variants = held if copies and held is not None and held.complete else None
        reads = copies and variants is None
        keep_record = self._histories.reading(url)
        has_copies = held is not None and bool(held.copies)  # but none that answers
        asked = None if lease is None else self.contact_leases.ask(lease, despite_copies=has_copies)
        is_known, taken_s = False, None
        try:
            found = await self._link.read(lambda backend: backend.look_up(url, copies=reads, lease=asked))
            is_known, taken_s = True, None if found is None else found.lease_time_s
        finally:
            taken = None if asked is None else self.contact_leases.asked(asked, taken_s, is_known=is_known)
        if found is not None:
            keep_record(found.record)
        if reads:
            variants = self._copies.found(url, partition, None if found is None else found.copies)
        other = self._copies.equivalent_in_memory(url, partition)
        return variants, other or (None if found is None else found.equivalent), taken

    async def has_copies(self, url: str) -> bool:
        """Whether an object has copies, or parts (`conditional.parts`)."""
        return await self._copies.has(url)

    async def body(self, copy: Copy) -> Body | None:
        """Return the content of a copy; None if it is gone. A file must be opened at once, as it may be swept."""
        return await self._copies.body(copy)

    def is_dead(self, copy: Copy) -> bool:
        """Whether a copy was invalidated, purged or forgotten after it was stored or fetched."""
        return self._tombstones.is_invalidated(copy.url, copy.stored_s, copy.groups)

    def put(self, copy: Copy, body: bytes | UnlinkedFile | None) -> None:
        """Store a copy in place of the same variant's; `body` None: the content is unchanged."""
        self._copies.put(copy, body)

    def leave_memory(self, url: str | None, before_s: float) -> None:
        """Read the copies of an object, or all, again that were current last before a moment: others changed them."""
        self._copies.leave_memory(url, before_s)

    def drop(self, url: str) -> None:
        """Invalidate all copies of an object that were stored before now."""
        self.invalidation.invalidate(url, exact=True)

    def drop_groups(self, groups: Sequence[str]) -> None:
        """Invalidate all copies in these groups (`Copy.groups`) that were stored before now."""
        if groups:
            self.invalidation.invalidate_groups(groups)

    # Histories

    async def learn(self, seen: Observation) -> RecordChange:
        """Apply an observation to the record of its object; waits until the record is read, not until it is written."""
        return await self._histories.learn(seen, self._clock.now())

    async def record(self, url: str) -> Record | None:
        """Return the record of an object, including unwritten observations."""
        return await self._histories.record(url)

    async def urls(self, pattern: str = "*") -> AsyncIterator[str]:
        """Yield the URLs of objects with a record. Raises ValueError for a malformed pattern; UnavailableError."""
        matches, seen = matcher(pattern), set[str]()
        async for part in self._link.backend.recorded():
            for url, _ in part:
                if matches(url) and url not in seen:
                    seen.add(url)
                    yield url

    async def copied(self, pattern: str) -> AsyncIterator[str]:
        """Yield the URLs of objects with copies. Raises ValueError for a malformed pattern; UnavailableError."""
        if names_one(pattern):
            if await self.has_copies(pattern):
                yield pattern
            return
        matches, seen = matcher(pattern), set[str]()
        async for part in self._link.backend.copied():
            for url in part:
                if matches(url) and url not in seen:
                    seen.add(url)
                    if await self.has_copies(url):
                        yield url

    async def records(self) -> AsyncIterator[Record]:
        """Yield the stored records of all objects, in no order. Raises UnavailableError."""
        seen = set[str]()
        async for part in self._link.backend.recorded():
            urls = [url for url, _ in part if url not in seen]
            seen.update(urls)
            for found in await self._link.backend.records(urls):
                if found.record is not None and not self._tombstones.is_forgotten(found):
                    yield found.record

    # Backups

    async def saved(self) -> AsyncIterator[Entry]:
        """Yield all that was learnt and is written, for a backup. Raises UnavailableError."""
        async for record in self.records():
            yield SavedRecord(encode_record(record))
        async for key in self._link.backend.learnt.keys():
            yield key

    async def restore(self, entries: Sequence[Entry]) -> tuple[int, int]:
        """Add entries of a backup: see `SavedState.restore`."""
        return await self._link.backend.learnt.restore(entries)

    async def stored_records(self, urls: Sequence[str]) -> list[Record]:
        """Return the stored records of these objects, with one round trip; none while the backend is down."""
        found = await self._link.read(lambda backend: backend.records(urls)) or ()
        return [one.record for one in found if one.record is not None and not self._tombstones.is_forgotten(one)]

    # Groups

    async def group(self, name: str, belongs: LabelFilter, domain: str | None = None) -> GroupCounts:
        """Return the counts of a group: under the labels, of one registrable domain or of all, that belong to it.

        It includes what this process learnt at once, and what other processes learnt within a minute.
        """
        known = self._groups.get(name, domain)
        return known or await self._groups.read_between(name, belongs, domain, self._write_behind.writing)

    def regroup(self) -> None:
        """Clear the cached counts: the rules have changed, and so have the members of groups."""
        self._groups.clear()

    # Counting

    def requested(self, url: str) -> None:
        """Count a request of an object."""
        self._requests.count(url)

    async def _tally(self, backend: Backend, counts: dict[str, int]) -> None:
        await backend.use(self._copies.bodies_in_memory(counts))
        await backend.tally(counts)

    async def top(self, n: int, text: str = "") -> list[tuple[str, int]]:
        """Return the most requested with `text` in their URL, and counts, by descending counts and then URLs."""
        async with self._write_behind.writing:  # else what is pending may be in what is read, too
            counts = Counter({url: k for url, k in self._requests.counts.items() if text.lower() in url.lower()})
            for url, count in await self._link.read(lambda backend: backend.top(n + len(counts), text)) or ():
                counts[url] += count
        return sorted(counts.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:n]

    # Commands

    async def purge(self, pattern: str) -> int:
        """Remove the copies of a URL, of a URL with `*` for any text, or of a pattern as in the configuration.

        Waits while the backend is down. Returns how many objects had copies. Raises ValueError for a malformed pattern,
        UnwritableError if the backend refuses writes; in process the copies are removed in any case.
        """
        exact = names_one(pattern)
        had_copies = exact and await self.has_copies(pattern)
        tombstone = self.invalidation.invalidate(pattern, exact=exact)
        return max(await self._when_back(tombstone, self._remove_copies), int(had_copies))

    async def forget(self, pattern: str) -> int:
        """Remove copies, histories and counts, as `purge`. Returns how many objects had a history."""
        tombstone = self.invalidation.invalidate(pattern, exact=names_one(pattern), histories=True)
        await self._when_back(tombstone, self._remove_copies)
        return await self._when_back(tombstone, self._remove_histories)

    async def _when_back(self, tombstone: Tombstone, remove: Callable[[Backend, Tombstone], Awaitable[int]]) -> int:
        """Write the tombstone and then remove its objects, when the backend is up; return how many.

        Raises UnwritableError if the backend refuses writes.
        """
        while True:
            await self._link.up.wait()
            try:
                await self.flush()
                if not self._tombstones.is_waiting(tombstone):
                    return await remove(self._link.backend, tombstone)
                if self._write_behind.refusal is not None:
                    raise self._write_behind.refusal
            except UnavailableError as e:
                self._link.mark_down(e)

    async def _remove_copies(self, backend: Backend, tombstone: Tombstone) -> int:
        tombstone = self._tombstones.numbered(tombstone)
        if tombstone.exact:
            return await backend.remove([tombstone.pattern], tombstone)
        matches, removed = matcher_of(tombstone), 0
        async for part in backend.copied():
            removed += await backend.remove([url for url in part if matches(url)], tombstone)
        return removed

    async def _remove_histories(self, backend: Backend, tombstone: Tombstone) -> int:
        tombstone = self._tombstones.numbered(tombstone)
        matches, forgotten = matcher_of(tombstone), 0
        async for part in backend.recorded():
            urls = [url for url, _ in part if matches(url)]
            forgotten += await self._sweep.forget(urls, lambda found: forgets(tombstone, found))
        await self.planning.forget(matches)
        async for requested in backend.requested():
            await backend.uncount([url for url in requested if matches(url)])
        await backend.forget_demand(matches)
        await backend.sites.forget(matches)
        self._groups.clear()
        return forgotten
