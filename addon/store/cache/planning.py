"""The store's part of prefetching: demand, candidates, shards, and the leases of fetches.

The backend keeps it (`keeper`). While the backend is down, fetches are taken and counted in memory: this process
continues with the candidates that it has, with politeness and budget of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import Backend, CommandError, UnavailableError, UnwritableError
from bestbefore.addon.store.backend.keeper import WANTS_KEPT_DAYS, Held, Keeper, Want
from bestbefore.addon.store.backend.keeper_memory import MemoryKeeper
from bestbefore.addon.store.cache.clean import is_writable
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import log
from bestbefore.addon.store.cache.pending_counts import MAX_PENDING, PendingCounts
from bestbefore.addon.store.candidate import Candidate, CandidateTable, decode, decode_all, encode
from bestbefore.addon.store.trouble import Trouble
from bestbefore.addon.store.trouble import decode as decode_trouble
from bestbefore.addon.store.trouble import encode as encode_trouble
from bestbefore.policies.units import DAY_S

MADE_KEPT_S = 60.0
"""For how long another proxy does not fetch an object that was just fetched, policy time."""

CHANGED = "#changed"
"""What an announced URL ends with if the object is said to have changed; URLs of objects have no fragment."""


class Announced(NamedTuple):
    """What other processes have announced."""

    grown: list[str]
    """Objects that are requested more."""
    changed: list[str]
    """Objects that are said to have changed."""
    position: int
    """From where to read on."""


class Planning:
    """The part of the store for prefetching."""

    def __init__(self, link: Link, clock: Clock, faults: Faults) -> None:
        self._link = link
        self._clock = clock
        self._faults = faults
        self._local = MemoryKeeper(clock)
        self.wants = PendingCounts[Want](faults, "wants", "the demand for", lambda want: want.url, self._add_wants)
        """The wants that wait to be written."""
        self.grown: set[str] = set()
        """Objects for which the demand has grown, for the prefetcher of this process, which takes them out."""
        self.has_grown = asyncio.Event()
        """Set when there are any."""

    # Demand. Wants are written behind.

    def want(self, url: str, asked_from: str) -> None:
        """Count a request without Cookie and credentials, by the range of the client's address."""
        if is_writable(url):
            self.wants.count(Want(url, asked_from))

    async def _add_wants(self, backend: Backend, wants: Mapping[Want, int]) -> None:
        sums = await backend.keeper.add_wants(self._today, wants)
        # At the first request of a day, and whenever their number has doubled.
        grown = {want.url for want, n in sums.items() if n.bit_length() > (n - wants[want]).bit_length()}
        self.grow(grown)

    def grow(self, urls: Collection[str]) -> None:
        """Let the prefetcher look at these objects."""
        if urls and len(self.grown) < MAX_PENDING:
            self.grown.update(urls)
            self.has_grown.set()

    @property
    def _today(self) -> int:
        return int(self._clock.now() // DAY_S)

    @property
    def _days(self) -> range:
        return range(self._today - WANTS_KEPT_DAYS + 1, self._today + 1)

    async def asked(self, urls: Sequence[str], ranges: Sequence[str]) -> list[dict[str, int]] | None:
        """Return how often each of these objects was requested in the last `WANTS_KEPT_DAYS` days, by range.

        None if the backend is down.
        """
        days = self._days
        return await self._ask(lambda keeper: keeper.asked(urls, ranges, days))

    async def wanted(self) -> AsyncIterator[set[str]]:
        """Yield the objects that were requested in these days, in parts; an object may occur several times.

        It ends early if the backend goes down.
        """
        if self._link.down:
            return
        try:
            async for _, part in self._link.backend.keeper.wants(self._days):
                yield {want.url for want in part}
        except UnavailableError as e:
            self._link.mark_down(e)
        except (UnwritableError, CommandError) as e:
            log.debug("the demand cannot be read: %s", e)

    async def announce(self, urls: Collection[str], *, changed: bool = False) -> None:
        """Let the process that holds their shards look at these objects, or fetch them, as they are said to change."""
        await self._ask(lambda keeper: keeper.announce([url + CHANGED for url in urls] if changed else urls))

    async def announced(self, since: int) -> Announced:
        """Return the objects announced after a position, and the new position."""
        urls, position = await self._ask(lambda keeper: keeper.announced(since)) or ([], since)
        changed = [url.removesuffix(CHANGED) for url in urls if url.endswith(CHANGED)]
        return Announced([url for url in urls if not url.endswith(CHANGED)], changed, position)

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the wants, the candidates and the fetches of some URLs. Raises UnavailableError, UnwritableError."""
        self.wants.forget(matches)
        await self._link.backend.keeper.forget(matches)
        await self._local.forget(matches)

    # Candidates

    async def hold(self, holder: str, lease_s: float) -> Held | None:
        """Renew the lease on shards, and take or give back some; None if the backend is down."""
        return await self._ask(lambda keeper: keeper.hold(holder, lease_s))

    async def let_go(self, holder: str) -> None:
        """End the lease on shards."""
        await self._ask(lambda keeper: keeper.let_go(holder))

    async def candidates(self, shard: int) -> AsyncIterator[CandidateTable]:
        """Yield the candidates of a shard, in parts; from the first again after the backend was down."""
        while True:
            await self._link.up.wait()
            try:
                async for part in self._link.backend.keeper.candidates(shard):
                    yield self._decoded(part)
            except UnavailableError as e:
                self._link.mark_down(e)
            except (UnwritableError, CommandError) as e:
                log.debug("the candidates of shard %d cannot be read: %s", shard, e)
                return
            else:
                return

    def _decoded(self, part: Mapping[str, bytes]) -> CandidateTable:
        found, faults = decode_all(part)
        for fault in faults:
            self._faults.add("value", fault)
        return found

    async def put_candidates(self, candidates: Mapping[str, Candidate | None]) -> bool:
        """Set these candidates; None removes one. False if the backend is down."""
        encoded = {url: None if one is None else encode(one) for url, one in candidates.items()}
        return await self._ask(lambda keeper: _done(keeper.put_candidates(encoded))) is not None

    async def candidate(self, url: str) -> Candidate | None:
        """Return a candidate as it is stored."""
        encoded = await self._ask(lambda keeper: keeper.candidate(url))
        try:
            return None if encoded is None else decode(encoded)
        except ValueError:
            return None

    async def put_troubles(self, troubles: Mapping[str, Trouble | None]) -> bool:
        """Set why watched objects could not be fetched; None removes one. False if the backend is down."""
        encoded = {url: None if one is None else encode_trouble(one) for url, one in troubles.items()}
        return await self._ask(lambda keeper: _done(keeper.put_troubles(encoded))) is not None

    async def troubles(self) -> dict[str, Trouble]:
        """Return why watched objects could not be fetched, by URL."""
        found = {}
        for url, encoded in (await self._ask(lambda keeper: keeper.troubles()) or {}).items():
            with suppress(ValueError):
                found[url] = decode_trouble(encoded)
        return found

    async def put_outlook(self, holder: str, outlook: bytes) -> None:
        """Publish what this process expects of its schedule."""
        await self._ask(lambda keeper: keeper.put_outlook(holder, outlook))

    async def outlooks(self) -> list[bytes]:
        """Return what the processes that hold shards expect of their schedules."""
        return await self._ask(lambda keeper: keeper.outlooks()) or []

    # Fetches. Durations in policy time are converted into real time here.

    async def take(self, url: str, holder: str, lease_s: float, interval_s: float) -> float:
        """Take a fetch as `Keeper.take` does; the interval is in policy time, lease and answer in real seconds."""
        real_s = self._clock.to_real_s(interval_s)
        return await self._ask_or_local(lambda keeper: keeper.take(url, holder, lease_s, real_s))

    async def renew(self, url: str, holder: str, lease_s: float) -> None:
        """Prolong the lease."""
        await self._ask(lambda keeper: keeper.renew(url, holder, lease_s))
        await self._local.renew(url, holder, lease_s)

    async def finish(self, url: str, holder: str) -> None:
        """Mark the fetch as made."""
        keep_s = self._clock.to_real_s(MADE_KEPT_S)
        await self._ask(lambda keeper: keeper.finish(url, holder, keep_s))
        await self._local.finish(url, holder, keep_s)

    async def release(self, url: str, holder: str) -> None:
        """Release the lease of a fetch that was not made."""
        await self._ask(lambda keeper: keeper.release(url, holder))
        await self._local.release(url, holder)

    async def pause(self, domain: str, wait_s: float) -> None:
        """Let no proxy fetch from a domain for a while, in policy time."""
        real_s = self._clock.to_real_s(wait_s)
        await self._ask(lambda keeper: keeper.pause(domain, real_s))
        await self._local.pause(domain, real_s)

    async def spend(self, period: int, since: int, most: int) -> bool:
        """Count a fetch as `Keeper.spend` does."""
        return await self._ask_or_local(lambda keeper: keeper.spend(period, since, most))

    async def spent(self, since: int) -> int:
        """Return the fetches counted, as `Keeper.spent` does."""
        return await self._ask_or_local(lambda keeper: keeper.spent(since))

    async def receive(self, period: int, since: int, received_bytes: int) -> None:
        """Count the bytes of a fetch as `Keeper.receive` does."""
        await self._ask_or_local(lambda keeper: _done(keeper.receive(period, since, received_bytes)))

    async def received_bytes(self, since: int) -> int:
        """Return the bytes counted, as `Keeper.received_bytes` does."""
        return await self._ask_or_local(lambda keeper: keeper.received_bytes(since))

    async def _ask_or_local[T](self, ask: Callable[[Keeper], Awaitable[T]]) -> T:
        answer = await self._ask(ask)
        return await ask(self._local) if answer is None else answer

    async def _ask[T](self, ask: Callable[[Keeper], Awaitable[T]]) -> T | None:
        """Return the backend's answer; None if it is down, or refuses writes."""
        if self._link.down:
            return None
        try:
            return await ask(self._link.backend.keeper)
        except UnavailableError as e:
            self._link.mark_down(e)
        except (UnwritableError, CommandError) as e:
            log.debug("prefetching goes on in memory: %s", e)
        return None


async def _done(work: Awaitable[None]) -> bool:
    await work
    return True
