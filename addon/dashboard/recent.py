"""The last requests, kept only while a page shows them."""

from collections import deque
from collections.abc import Callable, Sequence

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.dashboard.source import ProxySource

KEPT = 500
WATCHED_S = 60.0
"""For how long after a page has shown them requests are kept, real seconds."""


class RecentRequests:
    """Watches requests while a page shows them. Bounded by `KEPT`; without a page nothing is kept or called."""

    def __init__(self, source: ProxySource, monotonic: Callable[[], float]) -> None:
        self._source = source
        self._monotonic = monotonic
        self._seen: deque[Answered] | None = None
        self._until_s = 0.0
        self._count = 0

    def show(self) -> Sequence[Answered]:
        """Return the last requests, the latest first; none at the first call, which begins to keep them."""
        self._until_s = self._monotonic() + WATCHED_S
        if self._seen is None:
            self._seen = deque(maxlen=KEPT)
            self._source.watch(self._add)
        return list(reversed(self._seen))

    def since(self, number: int | None) -> tuple[int, Sequence[Answered], int]:
        """Return the number of the last request, those after `number`, the earliest first, and how many are lost.

        `number`: that of an earlier call; None, or one of another start of the proxy: all that are kept.
        """
        kept = list(reversed(self.show()))
        new = len(kept) if number is None or number > self._count else self._count - number
        found = kept[-new:] if new else []
        return self._count, found, new - len(found)

    def _add(self, answered: Sequence[Answered]) -> None:
        if self._seen is None or self._monotonic() > self._until_s:
            self.close()
        else:
            self._seen.extend(answered)
            self._count += len(answered)

    def close(self) -> None:
        """Keep nothing any more."""
        self._source.watch(None)
        self._seen = None
