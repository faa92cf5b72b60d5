"""The memory cache: copies with their bodies, from which hits are served."""

from collections.abc import Callable

from cachetools import LRUCache

from bestbefore.addon.rfc9111.caching.vary import Variants
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.bodies import STREAM_FROM_BYTES
from bestbefore.addon.store.backend.interface import CopySet

COPY_BYTES = 3072
"""The approximate size of a copy in memory without its body and the text of its fields.

Of 8,000 copies with seven fields that had been read from the store and served, each took 2.7 KB, as the allocators of
Python count it; a tenth more is what they leave free.
"""


class MemoryCache:
    """Copies by URL and partition; the least recently used are evicted."""

    def __init__(self, max_bytes: int) -> None:
        self._held: LRUCache[tuple[str, str], CopySet] = LRUCache(max_bytes, getsizeof=_size_bytes)
        self._partitions: set[str] = set()
        self.get = self._held.get  # called for every request: saves a function call

    def put(self, url: str, partition: str, held: CopySet) -> None:
        """Put the copies of a URL. Bodies that are large, or take an eighth of the capacity, are left out."""
        room = min(self._held.maxsize / 8, STREAM_FROM_BYTES)
        used = {copy.body.digest for copy in held.copies}
        bodies = {d: body for d, body in held.bodies.items() if d in used and len(body) <= room}
        held = CopySet(Variants(held.copies), bodies, held.complete)
        self._partitions.add(partition)
        if held.copies and _size_bytes(held) <= self._held.maxsize:
            self._held[url, partition] = held
        else:
            self._held.pop((url, partition), None)

    def filter(self, is_dead: Callable[[Copy], bool], url: str | None = None) -> None:
        """Remove dead copies, of one URL or all."""
        names = list(self._held) if url is None else [(url, partition) for partition in self._partitions]
        for name in names:
            held = self._held.get(name)
            if held is None or not any(is_dead(copy) for copy in held.copies):
                continue
            living = tuple(copy for copy in held.copies if not is_dead(copy))
            self.put(*name, CopySet(living, held.bodies, held.complete))

    def clear(self) -> None:
        self._held.clear()

    @property
    def size_bytes(self) -> float:
        return self._held.currsize


def _size_bytes(held: CopySet) -> int:
    copies = sum(COPY_BYTES + sum(len(n) + len(v) for n, v in copy.head.fields.raw) for copy in held.copies)
    return copies + sum(map(len, held.bodies.values()))
