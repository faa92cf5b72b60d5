"""Copies: in memory, pending, and in the backend."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from bestbefore.addon.clock import Clock
from bestbefore.addon.rfc9111.conditional.parts import partition_of
from bestbefore.addon.rfc9111.copy import BodyRef, Copy, Selecting
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.interface import (
    VARIANTS_KEPT,
    Backend,
    Body,
    CopySet,
    FullError,
    KeptCopy,
    Put,
    UnavailableError,
)
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.cache.clean import cleaned_copy
from bestbefore.addon.store.cache.faults import Faults, short, write_each
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.memory_cache import MemoryCache
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.replacements import Replacements
from bestbefore.addon.store.cache.tombstones import Tombstones
from bestbefore.addon.store.cache.write_behind import any_of
from bestbefore.addon.store.dictionary_index import DictionaryIndex
from bestbefore.addon.store.search_index import SearchIndex
from bestbefore.policies.units import DAY_S

WAITING_BYTES = 64 * 1024 * 1024
"""How much may be pending; beyond it the oldest pending copies are dropped."""
FLUSH_BYTES = WAITING_BYTES // 4
"""From this size on, pending copies are written at once."""
FILES_TO_MEMORY = 32
"""How many times as much may be pending in files."""
BATCH = 100
BATCH_BYTES = 4 * 1024 * 1024
type Variant = tuple[str, str, Selecting, str, int]
"""Partition, personal, selecting, client, number of the part: the key of a copy among those of its URL."""

LONGEST_S = 10 * 365 * DAY_S
"""No copy is kept longer, whatever its lifetime."""


class Copies:
    """The copies: from memory first, then from the backend, without those that tombstones invalidate."""

    def __init__(
        self,
        link: Link,
        clock: Clock,
        tombstones: Tombstones,
        notices: Notices,
        faults: Faults,
        *,
        hot_max: int,
        keep_s: float,
        store_max: int | None,
        has_peers: bool = False,
        replacements: Replacements | None = None,
    ) -> None:
        """`store_max`: how many bytes may be stored; None if the backend bounds itself.

        `has_peers`: other processes store copies too, which are looked for before an origin is asked. `replacements`
        announces to them what is replaced.
        """
        self._link = link
        self._clock = clock
        self._tombstones = tombstones
        self._notices = notices
        self._faults = faults
        self._keep_s = keep_s
        self._store_max = store_max
        self._has_peers = has_peers
        self._replacements = replacements or Replacements()
        self._hot = MemoryCache(hot_max)
        self._searches = SearchIndex()
        self._dictionaries = DictionaryIndex()
        self._waiting: dict[str, dict[Variant, Put]] = {}
        """Pending copies by URL, in the order in which they came."""
        self.waiting = 0
        """How many copies are pending."""
        self.waiting_bytes = 0
        self._most = BATCH
        """The size of a batch. It shrinks while batches fail, in case a single copy is the cause."""
        self._measured_bytes: int | None = None
        self._written_bytes = 0
        """Bytes written since the size of the backend was last measured."""
        self.refused = 0
        """How many copies were dropped, because the backend was full, or down for too long."""
        self._get_hot = self._hot.get

    # Reading

    def hot(self, url: str, partition: str = "") -> CopySet | None:
        """Return the copies in memory, which may be only some of the variants; None if there are none."""
        return self._get_hot((url, partition))

    async def copies(self, url: str, partition: str = "") -> CopySet:
        """Return the variants that are available now."""
        held = self._hot.get((url, partition))
        if held is not None and held.complete:
            return held
        return self.found(url, partition, await self._link.read(lambda backend: backend.copies(url)))

    def found(self, url: str, partition: str, kept: Sequence[KeptCopy] | None) -> CopySet:
        """Return the available variants, given those that were just read from the backend; None: it is down."""
        # Pending copies are taken after the wait, since they may have changed.
        waiting = [put for put in self._waiting.get(url, {}).values() if put.copy.partition == partition]
        now_held = self._hot.get((url, partition)) or CopySet()
        now_s = self._clock.now()
        mine = (self._tombstones.surviving(known, now_s) for known in kept or () if known.copy.partition == partition)
        living = [copy for copy in mine if copy is not None]
        found = CopySet(
            _in_order(_latest((*living, *(put.copy for put in waiting), *now_held.copies))),
            {**now_held.bodies, **{p.copy.body.digest: p.body for p in waiting if isinstance(p.body, bytes)}},
            complete=kept is not None and not self._has_peers,
            may_have_parts=self._may_have_parts(url, partition, kept),
        )
        self._hot.put(url, partition, found)
        for copy in found.copies:
            self._index(copy)
        return found

    def is_waiting(self, url: str) -> bool:
        """Whether a copy of an object is pending."""
        return url in self._waiting

    async def has(self, url: str) -> bool:
        """Whether an object has copies or parts, of whatever client."""
        return any([(await self.copies(url, partition)).copies for partition in ("", partition_of(""))])

    async def equivalent(self, url: str, partition: str) -> str | None:
        """Return another URL with a copy that probably answers requests for this one.

        URLs with a query are looked up in the backend too, for what other processes stored, or this one before.
        """
        found = self.equivalent_in_memory(url, partition)
        if found is None and "?" in url:
            found = await self._link.read(lambda backend: backend.equivalent(url))
        return found

    def equivalent_in_memory(self, url: str, partition: str) -> str | None:
        """Return the same from what this process has stored or read."""
        return self._searches.find(url, partition)

    async def dictionaries(self, target: Target) -> list[str]:
        """Return the URLs with copies that may be dictionaries for the response of a target, by precedence."""
        now_s = self._clock.monotonic()
        if self._dictionaries.is_due(target.origin, now_s):
            found = await self._link.read(lambda backend: backend.dictionaries(target.origin))
            self._dictionaries.read(target.origin, found or (), now_s)
        return self._dictionaries.find(target)

    def _may_have_parts(self, url: str, partition: str, kept: Sequence[KeptCopy] | None) -> bool:
        of_parts = partition_of(partition)
        pending = (put.copy for put in self._waiting.get(url, {}).values())
        known = (*(one.copy for one in kept or ()), *pending)
        if kept is None or self._hot.get((url, of_parts)) is not None:
            return True
        return any(copy.partition == of_parts for copy in known)

    async def body(self, copy: Copy) -> Body | None:
        """Return the content of a copy; None if it is gone."""
        held = self._hot.get((copy.url, copy.partition))
        if held is not None and copy.body.digest in held.bodies:
            return held.bodies[copy.body.digest]
        waiting = self._waiting.get(copy.url, {}).get(_variant(copy))
        if waiting is not None and waiting.body is not None and waiting.copy.body == copy.body:
            return waiting.body
        body = await self._link.read(lambda backend: backend.body(copy))
        if isinstance(body, bytes):
            self._hold_body(copy, body)
        return body

    def bodies_in_memory(self, urls: Iterable[str]) -> list[BodyRef]:
        """Return the contents of these objects that are served from memory."""
        held = [copies for url in urls if (copies := self._hot.get((url, ""))) is not None]
        return [copy.body for known in held for copy in known.copies if copy.body.digest in known.bodies]

    def _hold_body(self, copy: Copy, body: bytes) -> None:
        held = self._hot.get((copy.url, copy.partition))
        if held is not None and any(c.body == copy.body for c in held.copies):
            bodies = {**held.bodies, copy.body.digest: body}
            self._hot.put(copy.url, copy.partition, CopySet(held.copies, bodies, held.complete))

    # Writing

    def put(self, copy: Copy, body: bytes | UnlinkedFile | None) -> None:
        """Put a copy into memory and queue it for the backend, in place of the same variant's.

        Not if it was stored before a tombstone of it, nor if the present copy was received later: a slow response may
        be overtaken by a newer one.
        """
        writable = cleaned_copy(copy)
        if writable is None:
            self._faults.add("copy", f"the copy of {short(copy.url)} is not kept: its URL cannot be written as UTF-8")
            return
        copy = writable
        if self._tombstones.is_invalidated(copy.url, copy.stored_s, copy.groups):
            return
        before = self._hot.get((copy.url, copy.partition)) or CopySet()
        now_s = self._clock.now()
        if any(_variant(c) == _variant(copy) and c.was_received_after(copy, now_s) for c in before.copies):
            return
        bodies = {**before.bodies, copy.body.digest: body} if isinstance(body, bytes) else before.bodies
        others = [c for c in before.copies if _variant(c) != _variant(copy)]
        self._hot.put(copy.url, copy.partition, CopySet(_in_order([copy, *others]), bodies, before.complete))
        self._index(copy)
        replaces = copy.url in self._replacements or any(
            _variant(c) == _variant(copy) and c.body != copy.body for c in before.copies
        )
        self._queue(copy, body)
        if replaces:
            self._replacements.add(copy.url)

    def _index(self, copy: Copy) -> None:
        self._searches.add(copy)
        self._dictionaries.add(copy)

    def _queue(self, copy: Copy, body: bytes | UnlinkedFile | None) -> None:
        earlier = self._take(copy)
        if body is None and earlier is not None and earlier.copy.body == copy.body:
            body = earlier.body
        put = Put(copy, self._ttl_s(copy), body)
        self._waiting.setdefault(copy.url, {})[_variant(copy)] = put
        self.waiting += 1
        self.waiting_bytes += _bytes(put)
        self._link.wake(hurry=self.waiting_bytes > FLUSH_BYTES)
        while self.waiting_bytes > WAITING_BYTES:
            self._notices.begin("copies", "too many copies wait for the store: the oldest are not kept")
            longest = next(iter(next(iter(self._waiting.values())).values()))
            self._refuse([longest])

    def _take(self, copy: Copy) -> Put | None:
        """Remove and return the pending copy of this variant."""
        variants = self._waiting.get(copy.url, {})
        put = variants.pop(_variant(copy), None)
        if put is not None:
            self.waiting -= 1
            self.waiting_bytes -= _bytes(put)
            if not variants:
                del self._waiting[copy.url]
                self._replacements.discard(copy.url)
        return put

    def _refuse(self, puts: Iterable[Put]) -> None:
        for put in puts:
            if self._take(put.copy) is not None:
                self.refused += 1

    def _ttl_s(self, copy: Copy) -> float:
        """Return how long a copy is kept, in real seconds: its lifetime and `keep`."""
        now_s = self._clock.now()
        ends_s = max(copy.expiry_s or 0.0, copy.http_expiry_s or 0.0)
        return self._clock.to_real_s(min(max(0.0, ends_s - now_s) + self._keep_s, LONGEST_S))

    def remove(self, is_dead: Callable[[Copy], bool], url: str | None = None) -> None:
        """Remove dead copies in process; with `url`, only those of this URL."""
        self._hot.filter(is_dead, url)
        of_urls = list(self._waiting.values()) if url is None else [self._waiting.get(url, {})]
        for copy in [put.copy for variants in of_urls for put in variants.values()]:
            if is_dead(copy):
                self._take(copy)

    def leave_memory(self, url: str | None, before_s: float) -> None:
        """Read the copies of an object, or of all, again that were current last before a moment."""
        self._hot.filter(lambda copy: copy.current_s < before_s, url)

    def take_replaced(self, urls: Iterable[str]) -> None:
        """Read the copies of objects again that another worker or proxy has replaced."""
        for url in urls:
            self.leave_memory(url, math.inf)

    def forget_all(self) -> None:
        """Remove all copies in process: tombstones may have been missed."""
        self._hot.clear()
        self._waiting.clear()
        self.waiting = self.waiting_bytes = 0

    # To the backend

    @property
    def hot_bytes(self) -> float:
        return self._hot.size_bytes

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the copies pending now is still pending."""
        waiting = [put for variants in self._waiting.values() for put in variants.values()]
        return any_of(waiting, lambda put: self._waiting.get(put.copy.url, {}).get(_variant(put.copy)) is put)

    async def write(self, backend: Backend) -> None:
        """Write a batch of pending copies; a full backend refuses it. Raises UnavailableError, UnwritableError."""
        # Tombstones received from here on apply to pending copies, and not to those that are being written.
        puts, applied = self._batch(), self._tombstones.applied_number
        replaced = self._replacements.among(put.copy.url for put in puts)
        try:
            self._need_room(backend.size_bytes)
            for put, error in await write_each(puts, partial(backend.put, applied=applied)):
                self._faults.add("copy", f"a copy of {short(put.copy.url)} cannot be written: {error}")
        except UnavailableError:
            self._most = max(1, self._most // 4)
            raise
        except FullError as e:
            self._refuse(puts)
            self._notices.begin("full", f"the store is full ({e}): copies are not kept, histories are")
            return
        self._most = min(4 * self._most, BATCH)
        self._notices.end("full", "the store has room for copies again")
        for put in puts:
            self._written_bytes += _bytes(put)
            if self._waiting.get(put.copy.url, {}).get(_variant(put.copy)) is put:
                self._take(put.copy)
        self._replacements.announce(replaced)
        await backend.replaced.announce(replaced)
        if not self.waiting:
            self._notices.end("copies", "all waiting copies are written to the store")

    def _batch(self) -> list[Put]:
        puts: list[Put] = []
        size = 0
        for put in (put for variants in self._waiting.values() for put in variants.values()):
            size += _bytes(put)
            if puts and (size > BATCH_BYTES or len(puts) == self._most):
                break
            puts.append(put)
        return puts

    def _need_room(self, measured_bytes: int | None) -> None:
        if measured_bytes != self._measured_bytes:
            self._measured_bytes, self._written_bytes = measured_bytes, 0
        if self._store_max is not None and (measured_bytes or 0) + self._written_bytes > self._store_max:
            raise FullError(f"the data of bestbefore take more than {self._store_max} bytes")


def _variant(copy: Copy) -> Variant:
    return copy.partition, copy.personal, copy.selecting, copy.client, copy.part_number


def _latest(copies: Iterable[Copy]) -> Iterable[Copy]:
    """Return the copy of each variant that was validated last."""
    variants: dict[Variant, Copy] = {}
    for copy in copies:
        name = _variant(copy)
        if name not in variants or variants[name].response_time_s <= copy.response_time_s:
            variants[name] = copy
    return variants.values()


def _in_order(copies: Iterable[Copy]) -> tuple[Copy, ...]:
    """Return the copies in the order of storing, the latest first, and at most `VARIANTS_KEPT`."""
    return tuple(sorted(copies, key=lambda copy: -copy.stored_s)[:VARIANTS_KEPT])


def _bytes(put: Put) -> int:
    body = put.body or b""
    return 1024 + (len(body) if isinstance(body, bytes) else len(body) // FILES_TO_MEMORY)
