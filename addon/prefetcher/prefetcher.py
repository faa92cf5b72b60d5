"""The companion service of the proxy that plans and executes prefetches, by the configuration."""

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace

import numpy as np

from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.prefetcher.candidates import candidates
from bestbefore.addon.prefetcher.fetching import Fetcher
from bestbefore.addon.prefetcher.planner import make_plan
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import Runner
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.store.plan import Plan

logger = logging.getLogger(__name__)

CHECK_INTERVAL_S = 1.0
"""How often to check whether a new plan is due."""
LEAD_S = 60.0
"""The length of the lease for planning."""
RETRY_S = 60.0
"""The pause after an error. All in real seconds."""
MIN_REPLAN_PART = 1.0 / 60.0
"""The shortest time between two plannings, as a part of `replan`."""
NEW_DEMAND_PART = 0.2
"""The number of newly requested objects, as a part of the planned ones, that causes a new plan."""


class Prefetcher(Companion):
    """The prefetching of a proxy."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._holder = secrets.token_hex(8)
        self._settings = PrefetchSettings()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._is_outdated = False
        """Whether the current plan is based on an earlier configuration."""
        self._politeness = Politeness(self._settings.per_host_interval, 1, np.random.default_rng(secrets.randbits(64)))

    async def start(self) -> None:
        """Start, if the configuration enables prefetching."""
        settings = self._settings = self._configured()
        service, clock = self._service, self._service.clock
        service.metrics.prefetch.enabled(settings.budget.per_day if settings.enabled else 0.0)
        if not settings.enabled:
            return
        politeness = self._politeness  # kept when the configuration changes
        politeness.interval_s, politeness.connections = settings.per_host_interval, settings.connections_per_host
        metrics = service.metrics.prefetch
        fetcher = Fetcher(clock, service.store, service.exchanges, service.origin, politeness, settings, metrics)
        runner = Runner(
            clock, service.store.planning, politeness, settings.budget, metrics, self._holder, fetcher.fetch
        )
        self._tasks = [asyncio.create_task(_run_forever(work)) for work in (lambda: self._plan_on(fetcher), runner.run)]

    def _configured(self) -> PrefetchSettings:
        """Return the configured settings; without a budget if the proxy is offline."""
        config = self._service.config
        return replace(config.prefetch, enabled=config.prefetch.enabled and not config.settings.offline)

    @property
    def counts_demand(self) -> bool:
        """Whether prefetching is enabled."""
        return self._settings.enabled

    def note_answer(self, host: str, head: Head) -> None:
        """Pause the domain after an answer of 429 or 503, if prefetching is enabled."""
        if not self._settings.enabled:
            return
        retry_after = head.fields.first("retry-after")
        self._politeness.answered(registrable_domain(host), head.status, retry_after, self._service.clock.now())

    async def close(self) -> None:
        """Stop, and release the jobs in progress."""
        if self._stopping is not None:
            await self._stopping
        await self._stop()

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def reconfigured(self) -> None:
        """Apply a changed configuration; jobs in progress are released and done later."""
        self._is_outdated = True  # the rules may have changed, and with them the groups
        if self._configured() != self._settings:
            self._stopping = asyncio.create_task(self._restart(self._stopping))

    async def _restart(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await self._stop()
        await self.start()

    async def _plan_on(self, fetcher: Fetcher) -> None:
        planning, holder = self._service.store.planning, self._holder
        plan = await planning.plan()
        self._is_outdated = self._is_outdated or (plan is not None and not self._fits(plan))
        while True:
            if self._is_time(await planning.plan()) and await planning.lead(holder, LEAD_S):
                await self._plan(fetcher)
            await asyncio.sleep(CHECK_INTERVAL_S)

    def _is_time(self, plan: Plan | None) -> bool:
        """Whether a new plan is due: there is none, it is old, its settings differ, or demand has changed much."""
        if plan is None or self._is_outdated:
            return True
        passed_s = self._service.clock.now() - plan.made_s
        if not -CLOCK_SKEW_S <= passed_s < self._settings.replan:  # clearly negative: the clock was set back
            return True
        news = self._service.store.planning.news
        return passed_s >= MIN_REPLAN_PART * self._settings.replan and news >= max(1.0, NEW_DEMAND_PART * plan.objects)

    def _fits(self, plan: Plan) -> bool:
        return plan.budget_per_day == self._settings.budget.per_day and plan.objective == self._settings.objective

    async def _plan(self, fetcher: Fetcher) -> None:
        service = self._service
        found = await candidates(
            service.store,
            service.clock,
            service.config.rules.group_of,
            lambda host: host == pages.HOST or service.settings.is_passthrough(host),
            await fetcher.excluded(),
        )
        if found is None:
            return
        settings, now_s = self._settings, service.clock.now()
        plan = await _run_in_thread(lambda: make_plan(found, settings, now_s))
        self._is_outdated = False
        await service.store.planning.put_plan(plan)
        logger.debug("planned %d fetches of %d objects", len(plan.jobs), plan.objects)


async def _run_forever(work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run endless work, and restart it after an unexpected exception."""
    while True:
        try:
            await work()
        except Exception:
            logger.exception("prefetching failed and is tried again: this is a bug in bestbefore")
        await asyncio.sleep(RETRY_S)


async def _run_in_thread[T](compute: Callable[[], T]) -> T:
    """Run a long computation in a thread, for which a stop of the proxy does not wait."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: Exception | None) -> None:
        if not done.cancelled():
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = compute()
        except Exception as error:
            failure = error
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(deliver, result, failure)

    threading.Thread(target=run, name="plan", daemon=True).start()
    return await done
