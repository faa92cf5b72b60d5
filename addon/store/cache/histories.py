"""Histories: the records of the backend with the observations of this process that are not written yet."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from cachetools import LRUCache, TTLCache

from bestbefore.addon.engine.learning import Record, RecordChange, observe, until
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.store.backend.interface import Backend, Commit, GroupCounts, Versioned
from bestbefore.addon.store.backend.keys import host_of, label_of
from bestbefore.addon.store.cache.clean import cleaned_observation
from bestbefore.addon.store.cache.faults import Faults, short, write_each
from bestbefore.addon.store.cache.gains import Gains, gains_of, loss_of, total, total_by_label
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.tombstones import Tombstones
from bestbefore.addon.store.cache.write_behind import any_of

WAITING_OBSERVATIONS = 50_000
"""How many observations may be pending; beyond it new ones are dropped."""
REMEMBERED_BYTES = 4 << 20
"""The capacity of the cache of records, by the sizes below."""
RECORD_BYTES, UPDATE_BYTES, ITEM_BYTES = 1600, 80, 250
"""The approximate sizes in memory of a record without updates, of an update, and of an item of a feed."""
WAITING_LISTED_BYTES = 64 << 20
"""How much memory the items of feeds in pending observations may take."""
BATCH = 200
FOUND_MAX, FOUND_S = 1024, 5.0
"""How many records are kept after a look-up, and how long, for what is learnt by the contact that follows."""


@dataclass(slots=True)
class _Unwritten:
    """An observation that was applied in process and is not written yet."""

    observation: Observation
    now_s: float
    gains: Gains


@dataclass(slots=True)
class _CachedRecord:
    """The record of an object, including its unwritten observations."""

    version: bytes | None
    """The version in the backend on which the unwritten observations are based; None if it was not read."""
    record: Record | None
    forgotten: Gains = field(default_factory=dict)
    """The changes of counts when this replaces a forgotten record."""
    unwritten: list[_Unwritten] = field(default_factory=list)
    """The unwritten observations, in order."""


@dataclass(slots=True, eq=False)
class Histories:
    """Records by URL. An observation is applied once, and again only if another proxy wrote the record first."""

    link: Link
    tombstones: Tombstones
    notices: Notices
    faults: Faults
    gained: Callable[[str, GroupCounts | None], None]
    """Called with a label and the change of its counts; or with a host and None, when they must be read again."""
    _waiting: dict[str, _CachedRecord] = field(init=False, default_factory=dict)
    _reading: dict[str, asyncio.Task[_CachedRecord | None]] = field(init=False, default_factory=dict)
    _remembered: LRUCache[str, _CachedRecord] = field(
        init=False, default_factory=lambda: LRUCache(REMEMBERED_BYTES, getsizeof=_size_bytes)
    )
    _found: TTLCache[str, _CachedRecord] = field(init=False, default_factory=lambda: TTLCache(FOUND_MAX, FOUND_S))
    """Records that were read before a contact, from which nothing has been learnt yet."""
    _waiting_bytes: int = field(init=False, default=0)
    waiting: int = field(init=False, default=0)
    """How many observations are pending."""
    lost: int = field(init=False, default=0)
    """How many observations were dropped, because too many were pending."""

    # Reading and learning

    async def record(self, url: str) -> Record | None:
        """Return the record of an object, including unwritten observations."""
        return (await self._known(url)).record

    def reading(self, url: str) -> Callable[[Versioned], None]:
        """Return a function that keeps the record whose read begins now, for the contact that follows.

        It keeps none of an object of which observations are pending or are learnt meanwhile: they may be written after
        the record was read, so that it is older than what is known here.
        """

        def state() -> tuple[bool, Record | None]:
            remembered = self._remembered.get(url)
            return url in self._waiting or url in self._reading, None if remembered is None else remembered.record

        pending, record = state()

        def keep(versioned: Versioned) -> None:
            pending_now, record_now = state()
            if not pending and not pending_now and record_now is record:
                self._found[url] = known = _CachedRecord(versioned.version, *self._living(versioned))
                self._remember(url, known)

        return keep

    async def _known(self, url: str) -> _CachedRecord:
        if url in self._waiting:
            return self._waiting[url]
        # Concurrent contacts share one read, and continue in the order in which they came.
        reading = self._reading.get(url)
        if reading is None:
            reading = self._reading[url] = asyncio.create_task(self._read(url))
            reading.add_done_callback(lambda _: self._reading.pop(url))
        found = await asyncio.shield(reading)
        return self._waiting.get(url) or found or self._remembered.get(url) or _CachedRecord(None, None)

    async def _read(self, url: str) -> _CachedRecord | None:
        found = await self.link.read(lambda backend: backend.records([url]))
        if found is None:
            return None
        known = _CachedRecord(found[0].version, *self._living(found[0]))
        self._remember(url, known)
        return known

    def _living(self, found: Versioned) -> tuple[Record | None, Gains]:
        """Return a record of the backend; for a forgotten one None, and the change of the counts by its removal."""
        if found.record is not None and self.tombstones.is_forgotten(found):
            return None, {label_of(found.record): loss_of(found.record)}
        return found.record, {}

    def _remember(self, url: str, known: _CachedRecord) -> None:
        self._remembered.pop(url, None)  # its weight may have changed
        if known.record is not None:
            self._remembered[url] = known

    async def learn(self, observation: Observation, now_s: float) -> RecordChange:
        """Apply an observation to its record, which is written later. Waits only until the record is read."""
        writable = cleaned_observation(observation)
        if writable is None:
            message = f"nothing is kept of {short(observation.url)}: its URL cannot be written as UTF-8"
            self.faults.add("history", message)
            return observe(None, observation)
        observation = writable
        looked_up = self._found.pop(observation.url, None)
        known = self._waiting.get(observation.url) or looked_up or await self._known(observation.url)
        learnt, gains = _apply(known.record, observation, now_s)
        if not learnt.applied:
            return learnt
        if self._is_full:
            self.lost += 1
            self.notices.begin("histories", "too many observations wait for the store: new ones are dropped")
            return learnt
        known.record = learnt.record
        known.unwritten.append(_Unwritten(observation, now_s, gains))
        self.waiting += 1
        self._waiting_bytes += _listed_bytes(known.unwritten[-1:])
        self._waiting[observation.url] = known
        self._remember(observation.url, known)
        for label, gain in gains.items():
            self.gained(label, gain)
        self.link.wake()
        return learnt

    @property
    def _is_full(self) -> bool:
        return self.waiting >= WAITING_OBSERVATIONS or self._waiting_bytes >= WAITING_LISTED_BYTES

    def waiting_gain(self, belongs: Callable[[str], bool]) -> GroupCounts:
        """Return the change of the counts of the labels that belong by unwritten observations."""
        return total(
            gain
            for known in self._waiting.values()
            for label, gain in _gains(known, known.unwritten).items()
            if belongs(label)
        )

    def forget(self, matches: Callable[[str], bool], time_s: float) -> None:
        """Remove the observations of some URLs up to a time from this process, not from the backend."""
        for records in (self._remembered, self._found):
            for url in [url for url in records if matches(url)]:
                del records[url]
        for url, known in [(url, known) for url, known in self._waiting.items() if matches(url)]:
            later = [entry for entry in known.unwritten if entry.observation.t_s > time_s]
            self._reapply(url, known, Versioned(), later)
            known.version = None

    # To the backend

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the observations pending now is still pending."""
        waiting = [(known, entry.observation) for known in self._waiting.values() for entry in known.unwritten]
        return any_of(waiting, lambda item: any(entry.observation is item[1] for entry in item[0].unwritten))

    async def write(self, backend: Backend) -> None:
        """Write a batch of records. Raises UnavailableError, UnwritableError."""
        batch = list(islice(self._waiting.items(), BATCH))
        for (url, known), error in await write_each(batch, lambda part: self._write(backend, part)):
            self.faults.add("history", f"what was learnt of {short(url)} cannot be written: {error}")
            self._set_unwritten(url, known, [])
            self._remembered.pop(url, None)
            self.gained(host_of(url), None)
        if not self._is_full:
            self.notices.end("histories", "new observations are kept again")

    async def _write(self, backend: Backend, batch: Sequence[tuple[str, _CachedRecord]]) -> None:
        unread = [(url, known) for url, known in batch if known.version is None]
        if unread:
            for (url, known), found in zip(unread, await backend.records([url for url, _ in unread]), strict=True):
                self._rebase(url, known, found)
        writing = [(url, known, list(known.unwritten)) for url, known in batch if known.unwritten]
        answers = await backend.commit(
            [
                Commit(url, known.version or b"", known.record, _gains(known, unwritten))
                for url, known, unwritten in writing
            ]
        )
        for (url, known, unwritten), answer in zip(writing, answers, strict=True):
            if isinstance(answer, Versioned):
                self._rebase(url, known, answer)
            else:
                self._written(url, known, answer, unwritten)

    def _written(self, url: str, known: _CachedRecord, version: bytes, unwritten: list[_Unwritten]) -> None:
        known.version = version
        known.forgotten = {}
        written = {id(entry) for entry in unwritten}
        self._set_unwritten(url, known, [entry for entry in known.unwritten if id(entry) not in written])

    def _rebase(self, url: str, known: _CachedRecord, found: Versioned) -> None:
        """Apply the unwritten observations to the version found in the backend.

        Another proxy wrote that version after the one to which they were applied before.
        """
        known.version = found.version
        self._reapply(url, known, found, known.unwritten)

    def _reapply(self, url: str, known: _CachedRecord, start: Versioned, unwritten: Iterable[_Unwritten]) -> None:
        record, known.forgotten = self._living(start)
        kept = []
        for entry in unwritten:
            learnt, gains = _apply(record, entry.observation, entry.now_s)
            if learnt.applied:
                record = learnt.record
                kept.append(_Unwritten(entry.observation, entry.now_s, gains))
        known.record = record
        self._set_unwritten(url, known, kept)
        self._remember(url, known)
        self.gained(host_of(url), None)

    def _set_unwritten(self, url: str, known: _CachedRecord, unwritten: list[_Unwritten]) -> None:
        self.waiting += len(unwritten) - len(known.unwritten)
        self._waiting_bytes += _listed_bytes(unwritten) - _listed_bytes(known.unwritten)
        known.unwritten = unwritten
        if not unwritten and self._waiting.get(url) is known:
            del self._waiting[url]


def _gains(known: _CachedRecord, unwritten: Iterable[_Unwritten]) -> Gains:
    return total_by_label([known.forgotten, *(entry.gains for entry in unwritten)])


def _apply(record: Record | None, observation: Observation, now_s: float) -> tuple[RecordChange, Gains]:
    """Apply an observation; return the change of the record and the total changes of counts."""
    if record is None:
        learnt = observe(None, observation)
        return learnt, gains_of(None, learnt)
    kept = until(record, now_s)
    learnt = observe(kept.record, observation)
    return learnt, total_by_label((gains_of(record, kept), gains_of(kept.record, learnt)))


def _listed_bytes(unwritten: Iterable[_Unwritten]) -> int:
    return sum(len(entry.observation.listing.packed) for entry in unwritten if entry.observation.listing is not None)


def _size_bytes(known: _CachedRecord) -> int:
    if known.record is None:
        return RECORD_BYTES
    feed = known.record.feed
    items = 0 if feed is None else len(feed.items) + len(feed.gone)
    return RECORD_BYTES + UPDATE_BYTES * len(known.record.updates) + ITEM_BYTES * items
