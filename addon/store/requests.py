"""How often objects were requested, and counters of each domain: added up in process, written in batches."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from bestbefore.addon.store.interface import Backend, Tally
from bestbefore.addon.store.keys import host_of

WAITING_OBJECTS = 50_000
"""Of how many objects counts may wait to be written; beyond it the requests of others are not counted."""


class Requests:
    """What was counted since the last batch. A batch whose answer is lost is written again, and so counts twice."""

    def __init__(self, domain_of: Callable[[str], str]) -> None:
        self._domain_of = domain_of
        self._requests: Counter[str] = Counter()
        self._counters: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def count(self, url: str, counters: tuple[str, ...]) -> None:
        """One request of an object, and one for each of the counters of its domain."""
        if len(self._requests) < WAITING_OBJECTS or url in self._requests:
            self._requests[url] += 1
        if counters:
            self._counters[self._domain_of(host_of(url))].update(counters)

    @property
    def waiting(self) -> int:
        """Of how many objects counts wait to be written."""
        return len(self._requests)

    def waiting_top(self) -> Mapping[str, int]:
        return self._requests

    def waiting_counters(self) -> Mapping[str, Mapping[str, int]]:
        return self._counters

    def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the requests of some URLs."""
        for url in [url for url in self._requests if matches(url)]:
            del self._requests[url]

    async def write(self, backend: Backend) -> None:
        """Write all that waits. Raises AwayError, UnwritableError; it waits on then."""
        requests, counters = self._requests, self._counters
        self._requests, self._counters = Counter(), defaultdict(Counter)
        try:
            await backend.tally(Tally(requests, counters))
        except BaseException:
            self._requests.update(requests)
            for domain, counts in counters.items():
                self._counters[domain].update(counts)
            raise
