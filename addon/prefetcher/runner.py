"""Executes the jobs of the plan when they are due. Proxies that share a plan divide its jobs by leases.

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
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.prefetcher.agenda import Agenda
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.store.backend.keeper import DONE
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.plan import Job
from bestbefore.addon.wishes import FetchRate
from bestbefore.policies.units import HOUR_S

logger = logging.getLogger(__name__)

LEASE_S = 30.0
"""The length of a job's lease: another proxy may take the job so long after its holder was killed."""
RENEW_INTERVAL_S = 10.0
"""How often the holder renews the lease."""
POLL_S = 2.0
"""How often to check for a new plan. All three in real seconds."""
CONCURRENT = 16
"""The most fetches in progress, of all domains together."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job."""

    outcome: str
    """The outcome, as a label of metrics."""
    retry_s: float | None = None
    """If set, the job must be tried again after so many seconds of policy time."""


@dataclass(slots=True, eq=False)
class Runner:
    """Executes jobs until it is cancelled."""

    clock: Clock
    planning: Planning
    politeness: Politeness
    budget: FetchRate
    metrics: PrefetchMetrics
    holder: str
    """A unique name of this process."""
    fetch: Callable[[Job], Awaitable[Done]]
    _agenda: Agenda = field(init=False, default_factory=lambda: Agenda(_domain_of))
    _version: str = field(init=False, default="")
    _postponed: list[tuple[float, int, Job]] = field(init=False, default_factory=list)
    """A heap of postponed jobs, by the monotonic time until which they wait."""
    _numbers: Iterator[int] = field(init=False, default_factory=count)
    _under_way: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _budget_spent_until_s: float = field(init=False, default=0.0)
    """Until when the budget is spent, policy time."""
    _wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    async def run(self) -> None:
        """Execute due jobs until cancelled; then release the jobs in progress."""
        try:
            while True:
                self._wake.clear()
                await self._follow_plan()
                wait_s = self._start_due()
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _follow_plan(self) -> None:
        plan = await self.planning.plan()
        if plan is not None and plan.version != self._version:
            self._version = plan.version
            self._agenda.load(plan.jobs)
            self._postponed = []
            self.metrics.planned(plan.made_s, plan.objects, len(plan.jobs))

    def _start_due(self) -> float:
        """Start the jobs that may start; return the real seconds until the next may."""
        now_s, now_mono_s = self.clock.now(), self.clock.monotonic()
        while self._postponed and self._postponed[0][0] <= now_mono_s:
            self._agenda.put(heapq.heappop(self._postponed)[2])
        self.metrics.dropped.inc(self._agenda.collect(now_s))
        self.metrics.due.set(self._agenda.waiting)
        waits_s = [POLL_S]
        if self._postponed:
            waits_s.append(self._postponed[0][0] - now_mono_s)
        if self._agenda.next_due_s is not None:
            waits_s.append(self.clock.to_real_s(self._agenda.next_due_s - now_s))
        if self._budget_spent_until_s - HOUR_S <= now_s < self._budget_spent_until_s:
            return max(min(waits_s), 0.0)
        for domain in self._agenda.domains():
            if len(self._under_way) >= CONCURRENT:
                break
            wait_s = self.politeness.wait_s(domain, now_s)
            if wait_s > 0.0:
                waits_s.append(self.clock.to_real_s(wait_s))
                continue
            job = self._agenda.take(domain)
            self.politeness.started(domain, now_s)
            task = asyncio.create_task(self._do(job, domain))
            self._under_way.add(task)
            task.add_done_callback(self._ended)
        return max(min(waits_s), 0.0)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._wake.set()
        if not task.cancelled() and task.exception() is not None:
            logger.error("a prefetch failed: this is a bug in bestbefore", exc_info=task.exception())

    async def _do(self, job: Job, domain: str) -> None:
        try:
            interval_s = self.politeness.interval_s
            wait_s = await self.planning.take(job.url, job.due_s, self.holder, LEASE_S, interval_s)
            if wait_s == DONE:
                return
            if wait_s > 0.0:
                self._postpone(job, wait_s)
                return
            try:
                retry_s = await self._execute(job, domain)
            except BaseException:
                await self.planning.release(job.url, self.holder)
                raise
            if retry_s is None:
                await self.planning.finish(job.url, self.holder, job.due_s)
            else:
                await self.planning.release(job.url, self.holder)
                self._postpone(job, self.clock.to_real_s(retry_s))
        finally:
            self.politeness.ended(domain, self.clock.now())

    def _postpone(self, job: Job, wait_s: float) -> None:
        heapq.heappush(self._postponed, (self.clock.monotonic() + wait_s, next(self._numbers), job))

    async def _execute(self, job: Job, domain: str) -> float | None:
        """Execute a job whose lease is held; None if done, else the seconds of policy time until the next attempt."""
        now_s = self.clock.now()
        hour = int(now_s // HOUR_S)
        hours = round(self.budget.period_s / HOUR_S)
        if not await self.planning.spend(hour, hour - hours + 1, self.budget.fetches):
            self._budget_spent_until_s = (hour + 1) * HOUR_S
            self.metrics.budget_exhausted.inc()
            return self._budget_spent_until_s - now_s
        self.metrics.wait_s.inc(max(now_s - job.due_s, 0.0))
        renewal = asyncio.create_task(self._renew_lease(job))
        try:
            done = await self.fetch(job)
        finally:
            renewal.cancel()
        self.metrics.fetches.labels(done.outcome).inc()
        paused_s = self.politeness.paused_s(domain, self.clock.now())
        if paused_s > 0.0:
            self.metrics.pauses.inc()
            await self.planning.pause(domain, paused_s)
        return done.retry_s

    async def _renew_lease(self, job: Job) -> None:
        while True:
            await asyncio.sleep(RENEW_INTERVAL_S)
            await self.planning.renew(job.url, self.holder, LEASE_S)


def _domain_of(url: str) -> str:
    return registrable_domain(urlsplit(url).hostname or "")
