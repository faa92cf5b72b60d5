"""The counts of requests, accumulated in process and written in batches."""

from collections import Counter
from collections.abc import Callable, Mapping

from bestbefore.addon.store.backend.interface import Backend
from bestbefore.addon.store.cache.clean import is_writable
from bestbefore.addon.store.cache.faults import Faults, short, write_each

WAITING_OBJECTS = 50_000
"""For how many objects counts may be pending; beyond it requests of further objects are not counted."""


class RequestCounter:
    """Counts requests. A batch whose reply is lost is written again, and so counts twice."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._counts: Counter[str] = Counter()

    def count(self, url: str) -> None:
        """Count a request of an object."""
        known = url in self._counts
        if known or (len(self._counts) < WAITING_OBJECTS and is_writable(url)):
            self._counts[url] += 1

    @property
    def waiting(self) -> int:
        """The number of objects with pending counts."""
        return len(self._counts)

    def waiting_top(self) -> Mapping[str, int]:
        return self._counts

    def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the requests of some URLs."""
        for url in [url for url in self._counts if matches(url)]:
            del self._counts[url]

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the counts pending now is still pending."""
        counts = self._counts
        return lambda: self._counts is counts and bool(counts)

    async def write(self, backend: Backend) -> None:
        """Write all counts. Raises UnavailableError, UnwritableError; they remain pending then."""
        counts, self._counts = self._counts, Counter()
        try:
            for (url, _), error in await write_each(list(counts.items()), lambda part: backend.tally(dict(part))):
                self._faults.add("requests", f"requests of {short(url)} cannot be counted in the store: {error}")
        except BaseException:
            counts.update(self._counts)
            self._counts = counts
            raise
