"""Does the jobs of the plan: each when it is due, one proxy of all that share the plan, and never against politeness.

What is waited for is real time; when jobs are due, and how they are spaced, is policy time.
"""

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.prefetch_section import FetchBudget
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.prefetcher.agenda import Agenda
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.store.backend.keeper import DONE
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.plan import Job
from bestbefore.policies.units import HOUR_S

logger = logging.getLogger(__name__)

LEASE_S = 30.0
"""For how long a job is its holder's: so soon is it another's if the holder was killed."""
BEAT_S = 10.0
"""How often the holder prolongs that."""
POLL_S = 2.0
"""How often a new plan is looked for. All three in real seconds."""
CONCURRENT = 16
"""How many fetches may be under way, of all domains together."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job."""

    outcome: str
    """The label of metrics."""
    again_s: float | None = None
    """If set, the job is to be done after so many seconds of policy time: something else had to come first."""


class Runner:
    """Runs until it is cancelled."""

    def __init__(
        self,
        clock: Clock,
        planning: Planning,
        politeness: Politeness,
        budget: FetchBudget,
        metrics: PrefetchMetrics,
        holder: str,
        fetch: Callable[[Job], Awaitable[Done]],
    ) -> None:
        """`holder`: what no other process calls itself."""
        self._clock = clock
        self._planning = planning
        self._politeness = politeness
        self._budget = budget
        self._metrics = metrics
        self._holder = holder
        self._fetch = fetch
        self._agenda = Agenda(_domain_of)
        self._version = ""
        self._later: list[tuple[float, int, Job]] = []
        """A heap of jobs that are not for us yet, by the monotonic time until which."""
        self._numbers = count()
        self._under_way: set[asyncio.Task[None]] = set()
        self._broke_until_s = 0.0
        """The budget is spent until then, policy time."""
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Do what is due, until cancelled; then give back what was not done."""
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
        plan = await self._planning.plan()
        if plan is not None and plan.version != self._version:
            self._version = plan.version
            self._agenda.load(plan.jobs)
            self._later = []
            self._metrics.planned(plan.made_s, plan.objects, len(plan.jobs))

    def _start_due(self) -> float:
        """Begin what may be begun; for how many real seconds there is then nothing to do."""
        now_s, now_mono_s = self._clock.now(), self._clock.monotonic()
        while self._later and self._later[0][0] <= now_mono_s:
            self._agenda.put(heapq.heappop(self._later)[2])
        self._metrics.dropped(self._agenda.collect(now_s))
        self._metrics.waiting(self._agenda.waiting)
        waits_s = [POLL_S]
        if self._later:
            waits_s.append(self._later[0][0] - now_mono_s)
        if self._agenda.next_due_s is not None:
            waits_s.append(self._clock.to_real_s(self._agenda.next_due_s - now_s))
        if self._broke_until_s - HOUR_S <= now_s < self._broke_until_s:
            return max(min(waits_s), 0.0)
        for domain in self._agenda.domains():
            if len(self._under_way) >= CONCURRENT:
                break
            wait_s = self._politeness.wait_s(domain, now_s)
            if wait_s > 0.0:
                waits_s.append(self._clock.to_real_s(wait_s))
                continue
            job = self._agenda.take(domain)
            self._politeness.started(domain, now_s)
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
            interval_s = self._politeness.interval_s
            wait_s = await self._planning.take(job.url, job.due_s, self._holder, LEASE_S, interval_s)
            if wait_s == DONE:
                return
            if wait_s > 0.0:
                self._put_off(job, wait_s)
                return
            try:
                again_s = await self._execute(job, domain)
            except BaseException:
                await self._planning.release(job.url, self._holder)
                raise
            if again_s is None:
                await self._planning.finish(job.url, self._holder, job.due_s)
            else:
                await self._planning.release(job.url, self._holder)
                self._put_off(job, self._clock.to_real_s(again_s))
        finally:
            self._politeness.ended(domain, self._clock.now())

    def _put_off(self, job: Job, wait_s: float) -> None:
        heapq.heappush(self._later, (self._clock.monotonic() + wait_s, next(self._numbers), job))

    async def _execute(self, job: Job, domain: str) -> float | None:
        """Do a job that we hold; None if it is done, else after how many seconds of policy time it is to be tried."""
        now_s = self._clock.now()
        hour = int(now_s // HOUR_S)
        hours = round(self._budget.period_s / HOUR_S)
        if not await self._planning.spend(hour, hour - hours + 1, self._budget.fetches):
            self._broke_until_s = (hour + 1) * HOUR_S
            self._metrics.broke()
            return self._broke_until_s - now_s
        self._metrics.started(now_s - job.due_s)
        beat = asyncio.create_task(self._beat(job))
        try:
            done = await self._fetch(job)
        finally:
            beat.cancel()
        self._metrics.ended(done.outcome)
        paused_s = self._politeness.paused_s(domain, self._clock.now())
        if paused_s > 0.0:
            self._metrics.paused()
            await self._planning.pause(domain, paused_s)
        return done.again_s

    async def _beat(self, job: Job) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            await self._planning.renew(job.url, self._holder, LEASE_S)


def _domain_of(url: str) -> str:
    return registrable_domain(urlsplit(url).hostname or "")
