"""Histories: what was learnt in process and waits to be written, over what the backend has."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from cachetools import LRUCache

from bestbefore.addon.engine.learning import Record, RecordChange, observe, until
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.store.backend.interface import Backend, Commit, GroupCounts, Versioned
from bestbefore.addon.store.backend.keys import host_of
from bestbefore.addon.store.cache.clean import cleaned_observation
from bestbefore.addon.store.cache.faults import Faults, shown, write_each
from bestbefore.addon.store.cache.gains import gain_of, loss_of, total
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.tombstones import Tombstones
from bestbefore.addon.store.cache.write_behind import any_of

WAITING_OBSERVATIONS = 50_000
"""How many observations may wait to be written; beyond it new ones are answered, and not kept."""
REMEMBERED_UPDATES = 200_000
"""How much is known in process while the backend is away: the updates of all its records and the items
of its feeds, with 8 for each record."""
WAITING_LISTED_BYTES = 64 << 20
"""Likewise, how much the items of feeds may take that wait with them."""
BATCH = 200


NOTHING = GroupCounts({}, {})


@dataclass(slots=True)
class _Lesson:
    """An observation that was applied."""

    seen: Observation
    now_s: float
    gain: GroupCounts


@dataclass(slots=True)
class _Known:
    """The record of an object, and the observations that are not written yet."""

    version: bytes | None
    """Under which the backend has the record before the lessons; None if it was not asked."""
    record: Record | None
    forgotten: GroupCounts = NOTHING
    """What the counts lose when this is written in place of a record that was forgotten."""
    lessons: list[_Lesson] = field(default_factory=list)
    """Those that were not written yet, in order."""


class Histories:
    """Records by URL. An observation is applied once, when it is made; and again only if another proxy wrote first."""

    def __init__(
        self,
        link: Link,
        tombstones: Tombstones,
        notices: Notices,
        faults: Faults,
        gained: Callable[[str, GroupCounts | None], None],
    ) -> None:
        """Keep histories through this link.

        `gained` is called with what the counts of a host gain; or None, when they must be read again.
        """
        self._link = link
        self._tombstones = tombstones
        self._notices = notices
        self._faults = faults
        self._gained = gained
        self._waiting: dict[str, _Known] = {}
        self._reading: dict[str, asyncio.Task[_Known | None]] = {}
        self._remembered: LRUCache[str, _Known] = LRUCache(REMEMBERED_UPDATES, getsizeof=_weight)
        self._waiting_bytes = 0
        self.waiting = 0
        """How many observations wait to be written."""
        self.lost = 0
        """How many were not kept, because too many waited."""

    # Reading and learning

    async def record(self, url: str) -> Record | None:
        """Return what is known of an object, with what is not written yet."""
        return (await self._known(url)).record

    async def _known(self, url: str) -> _Known:
        if url in self._waiting:
            return self._waiting[url]
        # Contacts that come at the same time share one read, and go on in the order in which they came.
        reading = self._reading.get(url)
        if reading is None:
            reading = self._reading[url] = asyncio.create_task(self._read(url))
            reading.add_done_callback(lambda _: self._reading.pop(url))
        found = await asyncio.shield(reading)
        return self._waiting.get(url) or found or self._remembered.get(url) or _Known(None, None)

    async def _read(self, url: str) -> _Known | None:
        found = await self._link.read(lambda backend: backend.records([url]))
        if found is None:
            return None
        known = _Known(found[0].version, *self._living(found[0]))
        self._remember(url, known)
        return known

    def _living(self, found: Versioned) -> tuple[Record | None, GroupCounts]:
        """A record that the backend has; if it was forgotten, none, and what the counts are yet to lose for it."""
        if found.record is not None and self._tombstones.is_forgotten(found):
            return None, loss_of(found.record)
        return found.record, NOTHING

    def _remember(self, url: str, known: _Known) -> None:
        self._remembered.pop(url, None)  # its weight may be another now
        if known.record is not None:
            self._remembered[url] = known

    async def learn(self, seen: Observation, now_s: float) -> RecordChange:
        """Apply an observation to what is known; it is written later. Waits for nothing but what is known."""
        writable = cleaned_observation(seen)
        if writable is None:
            self._faults.add("history", f"nothing is kept of {shown(seen.url)}: its URL cannot be written as UTF-8")
            return observe(None, seen)
        seen = writable
        known = await self._known(seen.url)
        learnt, gain = _apply(known.record, seen, now_s)
        if not learnt.applied:
            return learnt
        if self._is_full:
            self.lost += 1
            self._notices.holds("histories", "too many observations wait for the store: new ones are dropped")
            return learnt
        known.record = learnt.record
        known.lessons.append(_Lesson(seen, now_s, gain))
        self.waiting += 1
        self._waiting_bytes += _listed_bytes(known.lessons[-1:])
        self._waiting[seen.url] = known
        self._remember(seen.url, known)
        self._gained(host_of(seen.url), gain)
        self._link.wake()
        return learnt

    @property
    def _is_full(self) -> bool:
        return self.waiting >= WAITING_OBSERVATIONS or self._waiting_bytes >= WAITING_LISTED_BYTES

    def waiting_gain(self, belongs: Callable[[str], bool]) -> GroupCounts:
        """Return what the counts of some hosts gain by what is not written yet."""
        return total(_gain(known, known.lessons) for url, known in self._waiting.items() if belongs(host_of(url)))

    def forget(self, matches: Callable[[str], bool], time_s: float) -> None:
        """Forget what was learnt of some URLs up to a moment, here; the backend forgets by itself."""
        for url in [url for url in self._remembered if matches(url)]:
            del self._remembered[url]
        for url, known in [(url, known) for url, known in self._waiting.items() if matches(url)]:
            later = [lesson for lesson in known.lessons if lesson.seen.t_s > time_s]
            self._replace_lessons(url, known, Versioned(), later)
            known.version = None

    # To the backend

    def snapshot(self) -> Callable[[], bool]:
        """Return a test whether any of these observations waits still."""
        waiting = [(known, lesson.seen) for known in self._waiting.values() for lesson in known.lessons]
        return any_of(waiting, lambda item: any(lesson.seen is item[1] for lesson in item[0].lessons))

    async def write(self, backend: Backend) -> None:
        """Write a batch of what waits. Raises UnavailableError, UnwritableError."""
        batch = list(islice(self._waiting.items(), BATCH))
        for (url, known), error in await write_each(batch, lambda part: self._write(backend, part)):
            self._faults.add("history", f"what was learnt of {shown(url)} cannot be written: {error}")
            self._keep_lessons(url, known, [])
            self._remembered.pop(url, None)
            self._gained(host_of(url), None)
        if not self._is_full:
            self._notices.ended("histories", "new observations are kept again")

    async def _write(self, backend: Backend, batch: Sequence[tuple[str, _Known]]) -> None:
        unread = [(url, known) for url, known in batch if known.version is None]
        if unread:
            for (url, known), found in zip(unread, await backend.records([url for url, _ in unread]), strict=True):
                self._start_from(url, known, found)
        writing = [(url, known, list(known.lessons)) for url, known in batch if known.lessons]
        answers = await backend.commit(
            [
                Commit(url, known.version or b"", known.record, _gain(known, lessons))
                for url, known, lessons in writing
            ]
        )
        for (url, known, lessons), answer in zip(writing, answers, strict=True):
            if isinstance(answer, Versioned):
                self._start_from(url, known, answer)
            else:
                self._written(url, known, answer, lessons)

    def _written(self, url: str, known: _Known, version: bytes, lessons: list[_Lesson]) -> None:
        known.version = version
        known.forgotten = NOTHING
        written = {id(lesson) for lesson in lessons}
        self._keep_lessons(url, known, [lesson for lesson in known.lessons if id(lesson) not in written])

    def _start_from(self, url: str, known: _Known, found: Versioned) -> None:
        """Apply the observations that wait to the version found in the backend.

        It is another than they were applied to before.
        """
        known.version = found.version
        self._replace_lessons(url, known, found, known.lessons)

    def _replace_lessons(self, url: str, known: _Known, start: Versioned, lessons: Iterable[_Lesson]) -> None:
        record, known.forgotten = self._living(start)
        kept = []
        for lesson in lessons:
            learnt, gain = _apply(record, lesson.seen, lesson.now_s)
            if learnt.applied:
                record = learnt.record
                kept.append(_Lesson(lesson.seen, lesson.now_s, gain))
        known.record = record
        self._keep_lessons(url, known, kept)
        self._remember(url, known)
        self._gained(host_of(url), None)

    def _keep_lessons(self, url: str, known: _Known, lessons: list[_Lesson]) -> None:
        self.waiting += len(lessons) - len(known.lessons)
        self._waiting_bytes += _listed_bytes(lessons) - _listed_bytes(known.lessons)
        known.lessons = lessons
        if not lessons and self._waiting.get(url) is known:
            del self._waiting[url]


def _gain(known: _Known, lessons: Iterable[_Lesson]) -> GroupCounts:
    return total([known.forgotten, *(lesson.gain for lesson in lessons)])


def _apply(record: Record | None, seen: Observation, now_s: float) -> tuple[RecordChange, GroupCounts]:
    """Return what an observation teaches, and what the counts gain by it in all."""
    if record is None:
        learnt = observe(None, seen)
        return learnt, gain_of(learnt)
    kept = until(record, now_s)
    learnt = observe(kept.record, seen)
    return learnt, total((gain_of(kept), gain_of(learnt)))


def _listed_bytes(lessons: Iterable[_Lesson]) -> int:
    return sum(len(lesson.seen.listing.packed) for lesson in lessons if lesson.seen.listing is not None)


def _weight(known: _Known) -> int:
    if known.record is None:
        return 8
    feed = known.record.feed
    return 8 + len(known.record.updates) + (0 if feed is None else len(feed.items) + len(feed.gone))
