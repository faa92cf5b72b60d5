"""The demand for copies: the requests for each, counted in process, and added to the store in batches.

A hit only adds an entry to a list. Decayed counts can be added, so each process adds what it has counted since its last
batch, and the sum in the store is the demand at all proxies.
"""

import asyncio
from collections.abc import Callable

from cachetools import LRUCache

from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Backend
from bestbefore.addon.store.backend.keys import CopyKey
from bestbefore.addon.store.cache.faults import Faults, short, write_each
from bestbefore.addon.store.cache.link import Link
from bestbefore.policies.models.demand import BURST_GAP_S, CopyDemand, first_request, joined, requested

WRITTEN_EVERY_S = 5.0
"""How often a batch is written while requests go on, s: each copy in it costs a script."""
MAX_WAITING = 50_000
"""For how many copies requests may be pending; beyond it only theirs are counted."""
AT_ONCE = 1000
"""How many requests are counted at once."""
REMEMBERED = 50_000
"""Of how many copies the time of the last request is remembered, to tell the bursts in which requests come."""


class DemandCounts:
    """The pending requests by copy. A batch whose reply is lost is written again, and so counts twice."""

    def __init__(self, link: Link, faults: Faults, monotonic: Callable[[], float]) -> None:
        self._link = link
        self._monotonic = monotonic
        self._due_s = 0.0
        """When the next batch is due, by the monotonic clock."""
        self._faults = faults
        self._uncounted: list[tuple[Copy, float]] = []
        """The latest requests, which are counted `AT_ONCE`."""
        self._pending: dict[CopyKey, CopyDemand] = {}
        self._last_s: LRUCache[CopyKey, float] = LRUCache(REMEMBERED)
        """When a copy that is in no pending entry was requested last."""
        self._batches = 0
        """The number of batches begun."""
        self._written = asyncio.Event()
        """Set while no batch is being written."""
        self._written.set()

    def count(self, copy: Copy, t: float) -> None:
        """Count a request for a copy at t."""
        self._uncounted.append((copy, t))
        if len(self._uncounted) >= AT_ONCE:
            self._count()

    def _count(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        of_copies: dict[int, tuple[Copy, list[float]]] = {}
        for copy, t in uncounted:
            of_copies.setdefault(id(copy), (copy, []))[1].append(t)
        for copy, times_s in of_copies.values():
            self.count_requests(CopyKey.of(copy), times_s)

    def count_requests(self, key: CopyKey, times_s: list[float]) -> None:
        """Count requests for a copy, in order of time."""
        demand = self._pending.get(key)
        if demand is None and len(self._pending) >= MAX_WAITING:
            return
        for t in times_s:
            if demand is not None:
                demand = requested(demand, max(t, demand.at_s))
                continue
            demand = first_request(t)
            if t - self._last_s.get(key, -BURST_GAP_S) <= BURST_GAP_S:
                demand = demand._replace(bursts=0.0)
        if demand is not None:
            self._pending[key] = demand

    async def of(self, copy: Copy) -> CopyDemand:
        """Return the demand for a copy, at all proxies; while the store is down, what is pending here."""
        key = CopyKey.of(copy)
        while True:
            await self._written.wait()
            batches = self._batches
            stored = await self._link.read(lambda backend: backend.demand(key))
            if batches == self._batches:  # else what was pending may be in what was read, or not
                break
        self._count()
        pending = self._pending.get(key)
        if stored is None or pending is None:
            return pending or stored or first_request(copy.response_time_s)
        is_ahead = stored.at_s > pending.at_s + CLOCK_SKEW_S  # the clock was ahead when it was written
        return pending if is_ahead else joined(stored, pending)

    def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the requests for the copies of some URLs."""
        self._count()
        for key in [key for key in self._pending if matches(key.url)]:
            del self._pending[key]

    @property
    def waiting(self) -> int:
        """The number of copies with pending requests."""
        self._count()
        return len(self._pending)

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any request pending now is still pending. They become due at once."""
        self._due_s = 0.0
        self._count()
        pending = self._pending
        return lambda: self._pending is pending and bool(pending)

    async def write(self, backend: Backend) -> None:
        """Add all that is pending, if it is due. Raises UnavailableError, UnwritableError; it remains pending then."""
        now_s = self._monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + WRITTEN_EVERY_S
        self._count()
        batch, self._pending = self._pending, {}
        self._batches += 1
        self._written.clear()
        try:
            for key, demand in batch.items():
                self._last_s[key] = demand.at_s
            for (key, _), error in await write_each(list(batch.items()), lambda part: backend.add_demand(dict(part))):
                self._faults.add("demand", f"the demand for {short(key.url)} cannot be written to the store: {error}")
        except BaseException:
            self._count()
            self._pending = {
                key: joined(batch[key], self._pending[key]) if key in batch and key in self._pending
                else batch.get(key) or self._pending[key]
                for key in {**batch, **self._pending}
            }
            raise
        finally:
            self._written.set()
