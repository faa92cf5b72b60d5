"""Counts of requests, accumulated in process and written in batches."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bestbefore.addon.store.backend.interface import Backend
from bestbefore.addon.store.cache.clean import is_writable
from bestbefore.addon.store.cache.faults import Faults, short, write_each

MAX_PENDING = 50_000
"""How many counts may be pending; beyond it only those are continued."""


@dataclass(slots=True, eq=False)
class PendingCounts[K]:
    """Counts by key. A batch whose reply is lost is written again, and so counts twice."""

    faults: Faults
    kind: str
    """The kind of its faults."""
    what: str
    """What is counted of an object, in messages."""
    url_of: Callable[[K], str]
    send: Callable[[Backend, dict[K, int]], Awaitable[None]]
    """Writes a batch."""
    counts: Counter[K] = field(init=False, default_factory=Counter)
    """Those that are pending."""

    def count(self, key: K) -> None:
        """Count one more."""
        if key in self.counts or (len(self.counts) < MAX_PENDING and is_writable(self.url_of(key))):
            self.counts[key] += 1

    @property
    def waiting(self) -> int:
        """The number of keys with pending counts."""
        return len(self.counts)

    def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the counts of some URLs."""
        for key in [key for key in self.counts if matches(self.url_of(key))]:
            del self.counts[key]

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the counts pending now is still pending."""
        counts = self.counts
        return lambda: self.counts is counts and bool(counts)

    async def write(self, backend: Backend) -> None:
        """Write all counts. Raises UnavailableError, UnwritableError; they remain pending then."""
        counts, self.counts = self.counts, Counter()
        try:
            for (key, _), error in await write_each(list(counts.items()), lambda part: self.send(backend, dict(part))):
                message = f"{self.what} {short(self.url_of(key))} cannot be counted in the store: {error}"
                self.faults.add(self.kind, message)
        except BaseException:
            counts.update(self.counts)
            self.counts = counts
            raise
