"""The counts of groups: read once, kept up to date by what is learnt here, and read again now and then."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import LRUCache

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.cache.gains import add, total
from bestbefore.addon.store.cache.link import Link

READ_AGAIN_S = 60.0
"""After how many real seconds a group is read again, for what other proxies learnt."""
DOMAINS_KEPT = 512
"""Of how many registrable domains the groups are kept in process."""

type HostFilter = Callable[[str], bool]


@dataclass(slots=True)
class _Sum:
    """The counts of one group in process."""

    belongs: HostFilter
    read_at_s: float
    """By the monotonic clock."""
    updates: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    generation: int = 0
    stale: bool = False


class Groups:
    """Sums over the hosts that belong to a group. What is learnt in this process is in them at once."""

    def __init__(
        self,
        link: Link,
        clock: Clock,
        domain_of: Callable[[str], str],
        waiting_gain: Callable[[HostFilter], GroupCounts],
    ) -> None:
        """`waiting_gain`: what is not written yet of the hosts that belong."""
        self._link = link
        self._clock = clock
        self._domain_of = domain_of
        self._waiting_gain = waiting_gain
        self._of_domains: LRUCache[str, dict[str, _Sum]] = LRUCache(DOMAINS_KEPT)
        self._wider: dict[str, _Sum] = {}
        """Of groups whose hosts may be in any domain."""
        self._due: set[tuple[str, str | None]] = set()
        """Those in use that are to be read again."""
        self._generation = 0

    def _known(self, name: str, domain: str | None) -> _Sum | None:
        return (self._wider if domain is None else self._of_domains.get(domain, {})).get(name)

    def get(self, name: str, domain: str | None) -> GroupCounts | None:
        """The counts, if they are known."""
        known = self._known(name, domain)
        if known is None or known.stale:
            return None
        if known.read_at_s < self._clock.monotonic() - READ_AGAIN_S:
            self._due.add((name, domain))
            self._link.wake()
        return self._counts(known)

    async def read(self, name: str, belongs: HostFilter, domain: str | None) -> GroupCounts:
        """Read the counts. To be called while nothing is being written."""
        hosts = await self._link.read(lambda backend: backend.hosts(domain))
        mine = [host for host in hosts or () if belongs(host)]
        written = await self._link.read(lambda backend: backend.host_counts(mine)) if mine else []
        if hosts is None or written is None:  # the store is down: better what was known before
            known = self._known(name, domain)
            if known is not None:
                return self._counts(known)
        counts = total([*(written or ()), self._waiting_gain(lambda host: self._in(host, domain) and belongs(host))])
        self._generation += 1
        known = _Sum(belongs, self._clock.monotonic(), dict(counts.updates), dict(counts.starts), self._generation)
        (self._wider if domain is None else self._of_domains.setdefault(domain, {}))[name] = known
        return self._counts(known)

    def _in(self, host: str, domain: str | None) -> bool:
        return domain is None or self._domain_of(host) == domain

    def gained(self, host: str, gain: GroupCounts | None) -> None:
        """Something was learnt of a host; None: its counts are others than was thought."""
        if gain is not None and not gain.updates and not gain.starts:
            return
        of_domain = self._of_domains.get(self._domain_of(host), {})
        for known in [*of_domain.values(), *self._wider.values()]:
            if not known.belongs(host):
                continue
            if gain is None:
                known.stale = True
                continue
            add(known.updates, gain.updates)
            add(known.starts, gain.starts)
            self._generation += 1
            known.generation = self._generation

    async def read_due(self) -> None:
        """Read those again whose time has come. To be called while nothing is being written."""
        due, self._due = self._due, set()
        for name, domain in due:
            known = self._known(name, domain)
            if known is not None:
                await self.read(name, known.belongs, domain)

    def clear(self) -> None:
        """Forget what is kept: other hosts belong together now."""
        self._of_domains.clear()
        self._wider.clear()
        self._due.clear()

    @staticmethod
    def _counts(known: _Sum) -> GroupCounts:
        return GroupCounts(known.updates, known.starts, known.generation)
