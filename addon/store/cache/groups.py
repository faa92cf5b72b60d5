"""The counts of groups, cached: kept up to date with what this process learns, and read again regularly."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import LRUCache

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.backend.keys import host_in
from bestbefore.addon.store.cache.gains import NO_COUNTS, add, total
from bestbefore.addon.store.cache.link import Link
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates

READ_AGAIN_S = 60.0
"""After how many real seconds a group is read again, to include what other proxies learnt."""
OLDEST_S = 2 * READ_AGAIN_S
"""From what age on counts are not used before they are read again: a group that is seldom asked for would be decided
about by what was known when it was last asked for, hours ago."""
PATIENCE_S = 0.5
"""How long a request waits for the end of a write, real seconds."""
DOMAINS_KEPT = 512
"""For how many registrable domains groups are cached."""
GROUPS_KEPT = 64
"""How many groups of one registrable domain are cached."""

type LabelFilter = Callable[[str], bool]
"""Whether the objects that are counted under a label (`keys.label_of`) belong to a group."""


@dataclass(slots=True)
class _Sum:
    """The cached counts of one group."""

    belongs: LabelFilter
    read_at_s: float
    """By the monotonic clock."""
    updates: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    rates: MemberRates = NO_RATES
    generation: int = 0
    stale: bool = False


class Groups:
    """The sums of the counts in a group. They include what this process learns at once."""

    def __init__(self, link: Link, clock: Clock, waiting_gain: Callable[[LabelFilter], GroupCounts]) -> None:
        """`waiting_gain` returns the unwritten changes of the labels that belong."""
        self._link = link
        self._clock = clock
        self._waiting_gain = waiting_gain
        self._of_domains: LRUCache[str, LRUCache[str, _Sum]] = LRUCache(DOMAINS_KEPT)
        self._wider: dict[str, _Sum] = {}
        """The sums of groups whose hosts may be in any domain."""
        self._due: set[tuple[str, str | None]] = set()
        """The groups in use that must be read again."""
        self._generation = 0

    def _known(self, name: str, domain: str | None) -> _Sum | None:
        return (self._wider if domain is None else self._of_domains.get(domain, {})).get(name)

    def get(self, name: str, domain: str | None) -> GroupCounts | None:
        """Return the cached counts; None if there are none, or they are too old."""
        known = self._known(name, domain)
        age_s = 0.0 if known is None else self._clock.monotonic() - known.read_at_s
        if known is None or known.stale or age_s > OLDEST_S:
            return None
        if age_s > READ_AGAIN_S:
            self._due.add((name, domain))
            self._link.wake()
        return self._counts(known)

    async def read_between(
        self, name: str, belongs: LabelFilter, domain: str | None, writing: asyncio.Lock
    ) -> GroupCounts:
        """Read the counts between two writes, during which `writing` is locked, unless another has read them before.

        A write may take seconds where a node of a cluster does not answer. After `PATIENCE_S` the counts are read
        beside it: what is being written may be in them twice or not at all, so they are read again after the write.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                await writing.acquire()
        except TimeoutError:
            counts = await self.read(name, belongs, domain)
            self._due.add((name, domain))
            self._link.wake()
            return counts
        try:
            return self.get(name, domain) or await self.read(name, belongs, domain)
        finally:
            writing.release()

    async def read(self, name: str, belongs: LabelFilter, domain: str | None) -> GroupCounts:
        """Read the counts from the backend. They are right if nothing is being written."""
        written = await self._link.read(lambda backend: backend.counts(belongs, domain))
        if written is None:  # the store is down: keep the cached counts
            known = self._known(name, domain)
            if known is not None:
                return self._counts(known)
        waiting = self._waiting_gain(lambda label: self._in(label, domain) and belongs(label))
        counts = total([written or NO_COUNTS, waiting])
        self._generation += 1
        now_s, updates, starts = self._clock.monotonic(), dict(counts.updates), dict(counts.starts)
        known = _Sum(belongs, now_s, updates, starts, counts.rates, self._generation)
        sums = self._wider if domain is None else self._of_domains.setdefault(domain, LRUCache(GROUPS_KEPT))
        sums[name] = known
        return self._counts(known)

    def _in(self, label: str, domain: str | None) -> bool:
        return domain is None or registrable_domain(host_in(label)) == domain

    def gained(self, label: str, gain: GroupCounts | None) -> None:
        """Add a change of the counts under a label.

        None: the change is unknown, and the counts of all objects on the host of the label must be read again.
        """
        if gain is not None and not any((gain.updates, gain.starts, *gain.rates)):
            return
        of_domain = [*self._of_domains.get(registrable_domain(host_in(label)), {}).values()]
        if gain is None:
            for known in of_domain:
                known.stale = True
        for known in [*of_domain, *self._wider.values()]:
            if not known.belongs(label):
                continue
            if gain is None:
                known.stale = True
                continue
            add(known.updates, gain.updates)
            add(known.starts, gain.starts)
            known.rates = known.rates.plus(gain.rates)
            if gain.updates or gain.starts:
                self._generation += 1
                known.generation = self._generation

    async def read_due(self) -> None:
        """Read the groups that are due. Must be called while nothing is being written."""
        due, self._due = self._due, set()
        for name, domain in due:
            known = self._known(name, domain)
            if known is not None:
                await self.read(name, known.belongs, domain)

    def clear(self) -> None:
        """Clear the cache: the members of groups have changed."""
        self._of_domains.clear()
        self._wider.clear()
        self._due.clear()

    @staticmethod
    def _counts(known: _Sum) -> GroupCounts:
        return GroupCounts(known.updates, known.starts, known.rates, known.generation)
