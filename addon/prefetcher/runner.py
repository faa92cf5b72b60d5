"""Makes the fetches that the schedule has due, within politeness and budget. Proxies on one store share both.

Waits are in real time; due times and spacing are in policy time.
"""

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.prefetch_section import ByteBudget
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.prefetcher.due_jobs import MOST_OF_A_DOMAIN, DueJobs, Job
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.policies.units import HOUR_S

logger = logging.getLogger(__name__)

LEASE_S = 30.0
"""The length of the lease of a fetch: another proxy may make it so long after its holder was killed."""
RENEW_INTERVAL_S = 10.0
"""How often the holder renews the lease."""
LONGEST_WAIT_S = 2.0
"""The longest wait until the next look at the schedule. All three in real seconds."""
CONCURRENT = 16
"""The most fetches in progress, of all domains together."""
MOST_WAITING = 20_000
"""The most jobs that wait here; the schedule keeps the others."""
COLLECTED_AT_ONCE = 200
"""The most jobs taken from the schedule before requests are served again."""
BUDGET_SPENT = "budget-spent"
"""The outcome of a job that must wait for the budget."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job."""

    outcome: str
    """The outcome, as a label of metrics."""
    retry_s: float | None = None
    """If set, the job must be tried again after so many seconds of policy time."""
    excluded_until_s: float | None = None
    """If set, the object is not to be fetched until then, policy time."""
    trouble: str = ""
    """Why the object could not be fetched; empty: it was, or need not be."""
    received_bytes: int = 0


@dataclass(slots=True, eq=False)
class Runner:
    """Makes due fetches until it is cancelled."""

    clock: Clock
    planning: Planning
    candidates: Candidates
    politeness: Politeness
    budget: FetchRate
    metrics: PrefetchMetrics
    holder: str
    """A unique name of this process."""
    fetch: Callable[[Job, Callable[[], Awaitable[bool]]], Awaitable[Done]]
    """Makes a fetch; it calls the function given to it before any contact, and makes none if the result is False."""
    ended: Callable[[Job, Done], None]
    """Called after each job that need not be tried again."""
    budget_bytes: ByteBudget | None = None
    _waiting: DueJobs = field(init=False, default_factory=DueJobs)
    _busy: set[str] = field(init=False, default_factory=set)
    """The objects of jobs that wait, are postponed or under way."""
    _postponed: list[tuple[float, int, Job]] = field(init=False, default_factory=list)
    """A heap of jobs that wait for something else, by the monotonic time until which they do."""
    _numbers: Iterator[int] = field(init=False, default_factory=count)
    _under_way: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _budget_spent_until_s: float = field(init=False, default=0.0)
    """Until when the budget is spent, policy time."""
    wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """To be set when an object may be due earlier than before."""

    async def run(self) -> None:
        """Make due fetches until cancelled; then release those in progress."""
        try:
            while True:
                self.wake.clear()
                wait_s = self._start_due()
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self.wake.wait()
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)
            self._busy.clear()

    def _start_due(self) -> float:
        """Start the fetches that may start; return the real seconds until the next may."""
        now_s, now_mono_s = self.clock.now(), self.clock.monotonic()
        while self._postponed and self._postponed[0][0] <= now_mono_s:
            job = heapq.heappop(self._postponed)[2]
            self._waiting.put(_domain_of(job.url), job)
        if self._budget_spent_until_s - HOUR_S <= now_s < self._budget_spent_until_s:
            self.candidates.defer(self._budget_spent_until_s)
            return min(LONGEST_WAIT_S, self.clock.to_real_s(self._budget_spent_until_s - now_s))
        waits_s = [LONGEST_WAIT_S]
        self._collect(now_s)
        for domain in self._waiting.domains():
            if len(self._under_way) >= CONCURRENT:
                break
            wait_s = self.politeness.wait_s(domain, now_s)
            if wait_s > 0.0:
                waits_s.append(self.clock.to_real_s(wait_s))
                continue
            self._start(domain, self._waiting.take(domain), now_s)
        self.metrics.due.set(len(self._waiting))
        if self._postponed:
            waits_s.append(self._postponed[0][0] - now_mono_s)
        next_s = self.candidates.next_s()
        if next_s is not None and len(self._under_way) < CONCURRENT and len(self._waiting) < MOST_WAITING:
            waits_s.append(self.clock.to_real_s(next_s - now_s))
        return max(min(waits_s), 0.0)

    def _collect(self, now_s: float) -> None:
        """Take due jobs from the schedule, as many as may wait here."""
        for _ in range(COLLECTED_AT_ONCE):
            job = None if len(self._waiting) >= MOST_WAITING else self.candidates.take(now_s)
            if job is None:
                return
            domain = _domain_of(job.url)
            number = self._waiting.number(domain)
            if job.url in self._busy:
                continue  # it gets a new estimate when that has ended
            if number >= MOST_OF_A_DOMAIN:
                wait_s = max(number * self.politeness.interval_s, self.politeness.paused_s(domain, now_s))
                self.candidates.postpone(job.url, now_s + wait_s)
            else:
                self._busy.add(job.url)
                self._waiting.put(domain, job)

    def _start(self, domain: str, job: Job, now_s: float) -> None:
        if not self.candidates.is_current(job):  # a client was faster, or it was forgotten
            self._busy.discard(job.url)
            self.ended(job, Done("not-needed"))
            return
        self.politeness.started(domain, now_s)
        task = asyncio.create_task(self._do(job, domain))
        self._under_way.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self.wake.set()
        if not task.cancelled() and task.exception() is not None:
            logger.error("a prefetch failed: this is a bug in bestbefore", exc_info=task.exception())

    async def _do(self, job: Job, domain: str) -> None:
        try:
            wait_s = await self.planning.take(job.url, self.holder, LEASE_S, self.politeness.interval_s)
            if wait_s > 0.0:
                self._postpone(job, wait_s)
                return
            if wait_s < 0.0:
                self.metrics.duplicates.inc()
                self._postpone(job, -wait_s)
                return
            try:
                done = await self._execute(job, domain)
            except BaseException:
                self._busy.discard(job.url)
                await self.planning.release(job.url, self.holder)
                raise
            if done.retry_s is None:
                await self.planning.finish(job.url, self.holder)
                self._busy.discard(job.url)
                self.ended(job, done)
            else:
                await self.planning.release(job.url, self.holder)
                self._postpone(job, self.clock.to_real_s(done.retry_s))
        finally:
            self.politeness.ended(domain, self.clock.now())

    def _postpone(self, job: Job, wait_s: float) -> None:
        heapq.heappush(self._postponed, (self.clock.monotonic() + wait_s, next(self._numbers), job))

    async def _execute(self, job: Job, domain: str) -> Done:
        """Execute a job whose lease is held."""
        renewal = asyncio.create_task(self._renew_lease(job))
        try:
            done = await self.fetch(job, lambda: self._spend(job.due_s))
        finally:
            renewal.cancel()
        if done.outcome != BUDGET_SPENT:
            self.metrics.fetches.labels(done.outcome).inc()
        if self.budget_bytes is not None and done.received_bytes:
            hour, since = self._hours(self.budget_bytes.period_s)
            await self.planning.receive(hour, since, done.received_bytes)
        paused_s = self.politeness.paused_s(domain, self.clock.now())
        if paused_s > 0.0:
            self.metrics.pauses.inc()
            await self.planning.pause(domain, paused_s)
        return done

    async def _spend(self, due_s: float) -> bool:
        """Count a contact, which was due at `due_s`, in the budget; False if that is spent."""
        now_s = self.clock.now()
        hour, since = self._hours(self.budget.period_s)
        if await self._has_bytes_left() and await self.planning.spend(hour, since, self.budget.fetches):
            self.metrics.wait_s.inc(max(now_s - due_s, 0.0))
            return True
        self._budget_spent_until_s = (hour + 1) * HOUR_S
        self.metrics.budget_exhausted.inc()
        return False

    async def _has_bytes_left(self) -> bool:
        if self.budget_bytes is None:
            return True
        _, since = self._hours(self.budget_bytes.period_s)
        return await self.planning.received_bytes(since) < self.budget_bytes.size_bytes

    def _hours(self, period_s: float) -> tuple[int, int]:
        """Return the current hour, and the first of the period that ends with it."""
        hour = int(self.clock.now() // HOUR_S)
        return hour, hour - round(period_s / HOUR_S) + 1

    async def _renew_lease(self, job: Job) -> None:
        while True:
            await asyncio.sleep(RENEW_INTERVAL_S)
            await self.planning.renew(job.url, self.holder, LEASE_S)


def _domain_of(url: str) -> str:
    return registrable_domain(urlsplit(url).hostname or "")
