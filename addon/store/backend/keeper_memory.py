"""The state of prefetching in memory, for a single process."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.keeper import SHARDS, WANTS_KEPT_DAYS, Held, Want, digest_of, shard_of
from bestbefore.addon.store.backend.keys import host_of

MARKS_AT_MOST = 10_000
"""How many marks of fetches and domains there may be before those that have ended are removed."""


class MemoryKeeper:
    """A `Keeper` in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wants: dict[int, Counter[Want]] = {}
        self._candidates: dict[str, bytes] = {}
        self._outlooks: dict[str, bytes] = {}
        self._marks: dict[str, tuple[str, float]] = {}
        """URL -> the holder that fetches it or has just done so, and until when that is kept."""
        self._free_s: dict[str, float] = {}
        """Domain -> when its next fetch may be taken."""
        self._spent: Counter[int] = Counter()
        self._received_bytes: Counter[int] = Counter()
        self._troubles: dict[str, bytes] = {}

    # Demand

    async def add_wants(self, day: int, wants: Mapping[Want, int]) -> Mapping[Want, int]:
        counts = self._wants.setdefault(day, Counter())
        counts.update(wants)
        for old in [known for known in self._wants if known <= day - WANTS_KEPT_DAYS]:
            del self._wants[old]
        return {want: counts[want] for want in wants}

    async def wants(self, days: Sequence[int]) -> AsyncIterator[tuple[int, dict[Want, int]]]:
        for day in days:
            yield day, dict(self._wants.get(day, {}))

    async def asked(self, urls: Sequence[str], ranges: Sequence[str], days: Sequence[int]) -> list[dict[str, int]]:
        sums = [{name: sum(self._wants[day][Want(url, name)] for day in days if day in self._wants) for name in ranges}
                for url in urls]  # fmt: skip
        return [{name: n for name, n in found.items() if n} for found in sums]

    async def announce(self, urls: Collection[str]) -> None:
        """Do nothing: no other process holds a shard."""

    async def announced(self, since: int) -> tuple[list[str], int]:
        return [], since

    async def forget(self, matches: Callable[[str], bool]) -> None:
        self._candidates = {url: candidate for url, candidate in self._candidates.items() if not matches(url)}
        self._marks = {url: mark for url, mark in self._marks.items() if not matches(url)}
        self._troubles = {url: trouble for url, trouble in self._troubles.items() if not matches(url)}
        for counts in self._wants.values():
            for want in [want for want in counts if matches(want.url)]:
                del counts[want]

    # Candidates

    async def hold(self, holder: str, lease_s: float) -> Held:  # noqa: ARG002 - there is one process
        return Held(frozenset(range(SHARDS)), SHARDS)

    async def let_go(self, holder: str) -> None:
        self._outlooks.pop(holder, None)

    async def candidates(self, shard: int) -> AsyncIterator[dict[str, bytes]]:
        yield {url: candidate for url, candidate in self._candidates.items() if shard_of(digest_of(url)) == shard}

    async def candidate(self, url: str) -> bytes | None:
        return self._candidates.get(url)

    async def put_candidates(self, candidates: Mapping[str, bytes | None]) -> None:
        for url, candidate in candidates.items():
            if candidate is None:
                self._candidates.pop(url, None)
            else:
                self._candidates[url] = candidate

    async def put_troubles(self, troubles: Mapping[str, bytes | None]) -> None:
        for url, trouble in troubles.items():
            if trouble is None:
                self._troubles.pop(url, None)
            else:
                self._troubles[url] = trouble

    async def troubles(self) -> dict[str, bytes]:
        return dict(self._troubles)

    async def put_outlook(self, holder: str, outlook: bytes) -> None:
        self._outlooks[holder] = outlook

    async def outlooks(self) -> list[bytes]:
        return list(self._outlooks.values())

    # Fetches

    async def take(self, url: str, holder: str, lease_s: float, interval_s: float) -> float:
        now_s = self._clock.monotonic()
        self._expire(now_s)
        other, end_s = self._marks.get(url, (holder, now_s))
        if other != holder and end_s > now_s:
            return now_s - end_s
        domain = registrable_domain(host_of(url))
        if self._free_s.get(domain, now_s) > now_s:
            return self._free_s[domain] - now_s
        self._marks[url] = holder, now_s + lease_s
        self._free_s[domain] = now_s + interval_s
        return 0.0

    def _expire(self, now_s: float) -> None:
        if len(self._marks) + len(self._free_s) > MARKS_AT_MOST:
            self._marks = {url: mark for url, mark in self._marks.items() if mark[1] > now_s}
            self._free_s = {domain: free_s for domain, free_s in self._free_s.items() if free_s > now_s}

    def _has(self, url: str, holder: str) -> bool:
        now_s = self._clock.monotonic()
        other, end_s = self._marks.get(url, ("", now_s))
        return other == holder and end_s > now_s

    async def renew(self, url: str, holder: str, lease_s: float) -> bool:
        if not self._has(url, holder):
            return False
        self._marks[url] = holder, self._clock.monotonic() + lease_s
        return True

    async def finish(self, url: str, holder: str, keep_s: float) -> None:
        if self._has(url, holder):
            self._marks[url] = holder, self._clock.monotonic() + keep_s

    async def release(self, url: str, holder: str) -> None:
        if self._has(url, holder):
            del self._marks[url]

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

    async def receive(self, period: int, since: int, received_bytes: int) -> None:
        for old in [known for known in self._received_bytes if known < since]:
            del self._received_bytes[old]
        self._received_bytes[period] += received_bytes

    async def received_bytes(self, since: int) -> int:
        return sum(n for period, n in self._received_bytes.items() if period >= since)
