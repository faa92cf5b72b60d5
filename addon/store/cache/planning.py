"""The store's part of prefetching: demand, the plan, and the leases of its jobs.

The backend keeps most of it (`keeper`). While the backend is down, jobs are taken and counted in memory: this process
continues with its plan, with politeness and budget of its own.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bestbefore.addon.clock import Clock
from bestbefore.addon.store.backend.interface import Backend, CommandError, UnavailableError, UnwritableError
from bestbefore.addon.store.backend.keeper import WANTS_KEPT_DAYS, Keeper, Want
from bestbefore.addon.store.backend.keeper_memory import MemoryKeeper
from bestbefore.addon.store.cache.clean import is_writable
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices, log
from bestbefore.addon.store.cache.pending_counts import MAX_PENDING, PendingCounts
from bestbefore.addon.store.plan import Plan, decode, encode
from bestbefore.policies.units import DAY_S

DONE_KEPT_S = 2 * DAY_S
"""How long a finished job is remembered, in policy time: longer than any plan."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The demand: how often clients requested objects, and since when that is counted."""

    counts: Counter[Want]
    since_s: float
    """The start of the first day with a count."""


class Planning:
    """The part of the store for prefetching."""

    def __init__(self, link: Link, clock: Clock, notices: Notices, faults: Faults) -> None:
        self._link = link
        self._clock = clock
        self._notices = notices
        self._local = MemoryKeeper(clock)
        self.wants = PendingCounts[Want](faults, "wants", "the demand for", lambda want: want.url, self._add_wants)
        """The wants that wait to be written."""
        self._plan: Plan | None = None
        self._planned: frozenset[str] = frozenset()
        """The objects in the plan."""
        self._news: Counter[str] = Counter()
        self._made = ""
        """The version of the last plan that this process made."""

    # Wants, which are written behind.

    def want(self, url: str, asked_from: str) -> None:
        """Count a request without Cookie and credentials, by the range of the client's address."""
        if not is_writable(url):
            return
        self.wants.count(Want(url, asked_from))
        if url not in self._planned and len(self._news) < MAX_PENDING:
            self._news[url] += 1

    @property
    def news(self) -> int:
        """The number of objects requested at least twice that are neither in the plan nor were considered for it."""
        return sum(n > 1 for url, n in self._news.items() if url not in self._planned)

    async def _add_wants(self, backend: Backend, wants: Mapping[Want, int]) -> None:
        await backend.keeper.add_wants(int(self._clock.now() // DAY_S), wants)

    async def demand(self) -> Demand | None:
        """Return the wants of the last `WANTS_KEPT_DAYS` days, for planning; None if the backend is down."""
        today = int(self._clock.now() // DAY_S)

        async def read(keeper: Keeper) -> Demand:
            counts, first = Counter(self.wants.counts), today
            async for day, part in keeper.wants(range(today - WANTS_KEPT_DAYS + 1, today + 1)):
                counts.update(part)
                first = min(first, day) if part else first
            return Demand(counts, first * DAY_S)

        demand = await self._ask(read)
        if demand is not None:
            looked_at: Counter[str] = Counter()
            for want, n in demand.counts.items():
                looked_at[want.url] += n
            self._news = Counter({url: n for url, n in self._news.items() if looked_at[url] < 2})
        return demand

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Forget the wants and the jobs of some URLs. Raises UnavailableError, UnwritableError."""
        self.wants.forget(matches)
        await self._link.backend.keeper.forget(matches)
        await self._local.forget(matches)
        plan = await self.plan()
        if plan is not None and any(matches(job.url) for job in plan.jobs):
            await self.put_plan(plan.without(matches))

    # The plan

    async def plan(self) -> Plan | None:
        """Return the current plan, or the last known one; None if there is none, or it cannot be decoded."""
        version = await self._ask(lambda keeper: keeper.plan_version())
        if version is None or (self._plan is not None and version == self._plan.version):
            return self._plan
        encoded = await self._ask(lambda keeper: keeper.plan())
        try:
            self._set_plan(None if encoded is None else decode(encoded))
            self._notices.end("plan", "the stored plan can be read again")
            if self._plan is not None and self._plan.version != self._made:  # another process has considered the demand
                self._news.clear()
        except ValueError as e:
            self._notices.begin("plan", str(e))
            self._set_plan(None)
        return self._plan

    async def put_plan(self, plan: Plan) -> None:
        """Set the current plan, for all processes if the backend is up."""
        self._made = plan.version
        self._set_plan(plan)
        await self._ask(lambda keeper: keeper.put_plan(plan.version, encode(plan)))

    def _set_plan(self, plan: Plan | None) -> None:
        self._plan = plan
        self._planned = frozenset(job.url for job in plan.jobs) if plan is not None else frozenset()

    async def lead(self, holder: str, lease_s: float) -> bool:
        """Whether the holder may plan for all now."""
        return bool(await self._ask(lambda keeper: keeper.lead(holder, lease_s)))

    # Jobs. Durations in policy time are converted into real time here.

    async def take(self, url: str, due_s: float, holder: str, lease_s: float, interval_s: float) -> float:
        """Take a job as `Keeper.take` does; the interval is in policy time, lease and answer in real seconds."""
        real_s = self._clock.to_real_s(interval_s)
        return await self._ask_or_local(lambda keeper: keeper.take(url, due_s, holder, lease_s, real_s))

    async def renew(self, url: str, holder: str, lease_s: float) -> None:
        """Prolong the lease."""
        await self._ask(lambda keeper: keeper.renew(url, holder, lease_s))
        await self._local.renew(url, holder, lease_s)

    async def finish(self, url: str, holder: str, due_s: float) -> None:
        """Mark the job as done."""
        keep_s = self._clock.to_real_s(DONE_KEPT_S)
        await self._ask(lambda keeper: keeper.finish(url, holder, due_s, keep_s))
        await self._local.finish(url, holder, due_s, keep_s)

    async def release(self, url: str, holder: str) -> None:
        """Release the lease of a job that was not done."""
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
