"""The demand for copies: the requests for each, counted in process, and added to the store in batches.

A hit only adds an entry to a list. Decayed counts can be added, so each process adds what it has counted since its last
batch, and the sum in the store is the demand at all proxies. Where a price is controlled, the stale hits that are
predicted are counted with the requests.
"""

from collections.abc import Callable

from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Backend
from bestbefore.addon.store.backend.keys import CopyKey
from bestbefore.addon.store.cache.faults import Faults, short
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.counts.copy_counts import CopyCounts, joined
from bestbefore.addon.store.counts.pending_sums import PendingSums
from bestbefore.addon.store.counts.stale_counts import StaleCounts
from bestbefore.policies.models.demand import first_request, requested

MAX_WAITING = 50_000
"""For how many copies requests may be pending; beyond it only theirs are counted."""
AT_ONCE = 1000
"""How many requests are counted at once."""


class DemandCounts:
    """The pending requests by copy. A batch whose reply is lost is written again, and so counts twice."""

    def __init__(self, link: Link, faults: Faults, monotonic: Callable[[], float], stale: StaleCounts) -> None:
        """`stale` gets the hits of copies under control."""
        self._stale = stale
        self._link = link
        self._faults = faults
        self._uncounted: list[tuple[Copy, float]] = []
        """The latest requests, which are counted `AT_ONCE`."""
        self._pending = PendingSums[CopyKey, CopyCounts](monotonic, MAX_WAITING, joined)

    def count(self, copy: Copy, t: float) -> None:
        """Count a hit of a copy at t."""
        self._uncounted.append((copy, t))
        if len(self._uncounted) >= AT_ONCE:
            self._count()

    def count_contact(self, copy: Copy, t: float) -> None:
        """Count a request at t that led to a contact, which stored or validated the copy."""
        self._count()
        self.count_requests(CopyKey.of(copy), [t])

    def _count(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        of_copies: dict[int, tuple[Copy, list[float]]] = {}
        for copy, t in uncounted:
            of_copies.setdefault(id(copy), (copy, []))[1].append(t)
        for copy, times_s in of_copies.values():
            predicted = self._stale.count_hits(copy, times_s)
            self.count_requests(CopyKey.of(copy), times_s, 0.0 if copy.control is None else copy.current_s, predicted)

    def count_requests(self, key: CopyKey, times_s: list[float], contact_s: float = 0.0, predicted: int = 0) -> None:
        """Count requests for a copy, in order of time, and the stale hits predicted for it since its last contact."""
        if not self._pending.has_room(key):
            return
        before = self._pending.by_key.get(key)
        demand = None if before is None else before.demand
        for t in times_s:
            demand = first_request(t) if demand is None else requested(demand, max(t, demand.at_s))
        if demand is not None:
            self._pending.by_key[key] = (before or CopyCounts(demand)).with_hits(demand, contact_s, predicted)

    async def of(self, copy: Copy) -> CopyCounts:
        """Return the counts of a copy, at all proxies; while the store is down, what is pending here."""
        key = CopyKey.of(copy)
        stored = await self._pending.beside(lambda: self._link.read(lambda backend: backend.demand(key)))
        self._count()
        pending = self._pending.by_key.get(key)
        if stored is None or pending is None:
            return pending or stored or CopyCounts(first_request(copy.response_time_s))
        is_ahead = stored.demand.at_s > pending.demand.at_s + CLOCK_SKEW_S  # the clock was ahead when it was written
        return pending if is_ahead else joined(stored, pending)

    def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the requests for the copies of some URLs."""
        self._count()
        for key in [key for key in self._pending.by_key if matches(key.url)]:
            del self._pending.by_key[key]

    @property
    def waiting(self) -> int:
        """The number of copies with pending requests."""
        self._count()
        return len(self._pending.by_key)

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any request pending now is still pending. They become due at once."""
        self._count()
        return self._pending.snapshot()

    async def write(self, backend: Backend) -> None:
        """Add all that is pending, if it is due. Raises UnavailableError, UnwritableError; it remains pending then."""
        self._count()
        await self._pending.write(backend.add_demand, self._drop)

    def _drop(self, key: CopyKey, error: Exception) -> None:
        self._faults.add("demand", f"the demand for {short(key.url)} cannot be written to the store: {error}")
