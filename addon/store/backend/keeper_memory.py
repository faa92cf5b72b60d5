"""The state of prefetching in memory, for a single process."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.keeper import DONE, WANTS_KEPT_DAYS, Want
from bestbefore.addon.store.backend.keys import host_of


class MemoryKeeper:
    """A `Keeper` in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wants: dict[int, Counter[Want]] = {}
        self._plan: tuple[str, bytes] | None = None
        self._leases: dict[str, tuple[str, float]] = {}
        """URL -> holder, end."""
        self._done: dict[str, tuple[float, float]] = {}
        """URL -> due time of the last job done, end."""
        self._free_s: dict[str, float] = {}
        """Domain -> when its next job may be taken."""
        self._spent: Counter[int] = Counter()

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> None:
        self._wants.setdefault(day, Counter()).update(wants)
        for old in [known for known in self._wants if known <= day - WANTS_KEPT_DAYS]:
            del self._wants[old]

    async def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        for day in days:
            yield day, dict(self._wants.get(day, {}))

    async def forget(self, matches: Callable[[str], bool]) -> None:
        self._done = {url: done for url, done in self._done.items() if not matches(url)}
        for counts in self._wants.values():
            for want in [want for want in counts if matches(want.url)]:
                del counts[want]

    async def plan_version(self) -> str:
        return "" if self._plan is None else self._plan[0]

    async def plan(self) -> bytes | None:
        return None if self._plan is None else self._plan[1]

    async def put_plan(self, version: str, plan: bytes) -> None:
        self._plan = version, plan

    async def lead(self, holder: str, lease_s: float) -> bool:  # noqa: ARG002 - there is one process
        return True

    async def take(self, url: str, due_s: float, holder: str, lease_s: float, interval_s: float) -> float:
        now_s = self._clock.monotonic()
        self._expire(now_s)
        if url in self._done and self._done[url][0] >= due_s:
            return DONE
        if url in self._leases:
            return max(self._leases[url][1] - now_s, 1e-3)
        domain = registrable_domain(host_of(url))
        if self._free_s.get(domain, now_s) > now_s:
            return self._free_s[domain] - now_s
        self._leases[url] = holder, now_s + lease_s
        self._free_s[domain] = now_s + interval_s
        return 0.0

    def _expire(self, now_s: float) -> None:
        for url in [url for url, (_, end_s) in self._leases.items() if end_s <= now_s]:
            del self._leases[url]
        if len(self._done) > 10_000:
            self._done = {url: done for url, done in self._done.items() if done[1] > now_s}
            self._free_s = {domain: free_s for domain, free_s in self._free_s.items() if free_s > now_s}

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        self._expire(self._clock.monotonic())
        if self._leases.get(url, ("",))[0] != holder:
            return False
        self._leases[url] = holder, self._clock.monotonic() + lease_s
        return True

    async def finish(self, url: str, holder: str, due_s: float, keep_s: float) -> None:
        if self._leases.get(url, ("",))[0] == holder:
            del self._leases[url]
            self._done[url] = due_s, self._clock.monotonic() + keep_s

    async def release(self, url: str, holder: str) -> None:
        if self._leases.get(url, ("",))[0] == holder:
            del self._leases[url]

    async def pause(self, domain: str, wait_s: float) -> None:
        until_s = self._clock.monotonic() + wait_s
        self._free_s[domain] = max(self._free_s.get(domain, until_s), until_s)

    async def spend(self, period: int, since: int, most: int) -> bool:
        for old in [known for known in self._spent if known < since]:
            del self._spent[old]
        if self._spent.total() >= most:
            return False
        self._spent[period] += 1
        return True

    async def spent(self, since: int) -> int:
        return sum(n for period, n in self._spent.items() if period >= since)
