"""The invalidation of copies, and the removal of histories, in process: by tombstones of this and other processes."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from bestbefore.addon.clock import Clock
from bestbefore.addon.rfc9111.fields.cache_groups import is_group
from bestbefore.addon.store.backend.interface import Tombstone, UnavailableError
from bestbefore.addon.store.cache.copies import Copies
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.groups import Groups
from bestbefore.addon.store.cache.histories import Histories
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.pending_counts import PendingCounts
from bestbefore.addon.store.cache.tombstones import (
    TOMBSTONES_AT_MOST,
    TOMBSTONES_KEPT_S,
    Tombstones,
    copies_of,
    matcher_of,
)
from bestbefore.addon.store.counts.demand_counts import DemandCounts
from bestbefore.addon.store.sites.sites import Sites


class Invalidation:
    """Applies tombstones to all data in process, and queues those of this process for the backend."""

    def __init__(
        self,
        link: Link,
        clock: Clock,
        faults: Faults,
        tombstones: Tombstones,
        copies: Copies,
        histories: Histories,
        requests: PendingCounts[str],
        demand: DemandCounts,
        groups: Groups,
        sites: Sites,
        forgotten: Callable[[Tombstone], None],
    ) -> None:
        """`forgotten` is called with each tombstone of any process that removes histories, possibly more than once."""
        self._link = link
        self._clock = clock
        self._faults = faults
        self._tombstones = tombstones
        self._copies = copies
        self._histories = histories
        self._requests = requests
        self._demand = demand
        self._groups = groups
        self._sites = sites
        self._forgotten = forgotten
        self._name = secrets.token_hex(8)
        """The name of this process, which marks its tombstones."""
        self._published: list[Tombstone] | None = None
        """Tombstones received while connecting, until the earlier ones have been read."""
        self._was_connected = False
        self.pass_on: Callable[[Tombstone], object] = lambda _: None
        """Called with what other processes cannot read in the backend while that is down; they `take_over`."""
        link.on_down.append(self._on_down)

    async def connect(self) -> None:
        """Connect to the backend, and apply the tombstones that were written while it was down."""
        published: list[Tombstone] = []
        self._published = published
        try:
            await self._link.backend.connect(self._receive, self._link.mark_down)
            last = await self._link.backend.last_tombstone()
            tombstones = await self._link.backend.tombstones()
        finally:
            self._published = None
        if self._may_have_missed(tombstones) or self._tombstones.is_broken(tombstones, last):
            self._copies.forget_all()
            self._tombstones.applied_number = 0
        for tombstone in tombstones:
            self._apply(tombstone)
        self._tombstones.applied_number = max([last, *(t.number for t in tombstones)])
        self._was_connected = True
        for tombstone in published:
            self._receive(tombstone)
        self._groups.clear()
        self._sites.reconnected()

    def _may_have_missed(self, found: Sequence[Tombstone]) -> bool:
        """Whether tombstones may have been added and removed while disconnected; `found` are those in the backend."""
        since_s = self._link.down_since_s
        if since_s is None:
            return False
        reach_back_s = TOMBSTONES_KEPT_S
        if len(found) >= TOMBSTONES_AT_MOST:
            reach_back_s = min(reach_back_s, self._clock.now() - found[0].time_s)
        return self._clock.monotonic() - since_s > self._clock.to_real_s(reach_back_s)

    def invalidate(self, pattern: str, *, exact: bool, histories: bool = False) -> Tombstone:
        """Invalidate all copies stored before now; return the tombstone. Raises ValueError for a malformed pattern.

        `exact`: whether `pattern` is the URL of one object. `histories`: whether histories are removed too.
        """
        tombstone = self._new_tombstone(pattern, exact=exact, histories=histories)
        self._queue(tombstone)
        return tombstone

    def invalidate_groups(self, groups: Sequence[str]) -> None:
        """Invalidate all copies in these groups (`Copy.groups`) that were stored before now."""
        for group in groups:
            self._queue(self._new_tombstone(group, exact=True))

    def take_over(self, tombstone: Tombstone) -> None:
        """Apply a tombstone that another process passes on, and write it too, as that process may end before it can."""
        self._tombstones.queue(replace(tombstone, by=self._name))
        self._removed(tombstone)

    def _queue(self, tombstone: Tombstone) -> None:
        self._tombstones.queue(tombstone)
        self._removed(tombstone)
        if self._link.down:
            self.pass_on(tombstone)

    def _on_down(self) -> None:
        for tombstone in self._tombstones.pending():
            if tombstone.by == self._name:
                self.pass_on(tombstone)

    def _removed(self, tombstone: Tombstone) -> None:
        """Remove in process what a tombstone of this moment names, regardless of times: clocks are set back."""
        is_url = tombstone.exact and not is_group(tombstone.pattern)
        self._copies.remove(copies_of(tombstone), tombstone.pattern if is_url else None)
        self._forget_here(tombstone, matcher_of(tombstone))
        self._link.wake()

    def _new_tombstone(self, pattern: str, *, exact: bool, histories: bool = False) -> Tombstone:
        return Tombstone(self._clock.now(), pattern, exact=exact, histories=histories, by=self._name)

    def _receive(self, tombstone: Tombstone) -> None:
        """Receive a published tombstone. They arrive in the order of their numbers."""
        if self._published is not None:
            self._published.append(tombstone)
            return
        self._apply(tombstone)
        self._tombstones.mark_applied(tombstone)
        if tombstone.number > self._tombstones.applied_number:
            self._link.mark_down(UnavailableError("it has published something that did not arrive"))  # it will be read

    def _apply(self, tombstone: Tombstone) -> None:
        """Apply a tombstone of another process to all data in process.

        An own tombstone is ignored when it is received, since newer copies may have been stored after it.
        """
        if tombstone.number and tombstone.number <= self._tombstones.applied_number:
            return
        is_ours = tombstone.by == self._name
        if tombstone.number and not is_ours:
            # At the start there are no copies in process, and no fetches, that could be older.
            now_s = self._clock.now()
            local_s = now_s if self._was_connected else min(now_s, tombstone.time_s)
            tombstone = replace(tombstone, time_s=local_s)
        try:
            matches = matcher_of(tombstone)
            self._tombstones.add(tombstone)
        except ValueError as e:
            self._faults.add("unreadable", f"a tombstone in the store cannot be read: {e}")
            return
        if is_ours:
            return
        numbered = tombstone.number > 0
        is_of_it = copies_of(tombstone)
        self._copies.remove(
            lambda copy: (numbered or copy.stored_s < tombstone.time_s) and is_of_it(copy),
            tombstone.pattern if tombstone.exact and not is_group(tombstone.pattern) else None,
        )
        self._forget_here(tombstone, matches)

    def _forget_here(self, tombstone: Tombstone, matches: Callable[[str], bool]) -> None:
        if tombstone.histories:
            self._histories.forget(matches, tombstone.time_s)
            self._requests.forget(matches)
            self._demand.forget(matches)
            self._groups.clear()
            self._sites.forget(matches)
            self._forgotten(tombstone)
