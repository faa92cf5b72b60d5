"""The companion service of the proxy that refreshes copies before they are requested, by the configuration."""

import asyncio
import logging
import math
import secrets
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace

import numpy as np

from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.prefetcher.due_jobs import Job
from bestbefore.addon.prefetcher.fetching import Fetcher
from bestbefore.addon.prefetcher.outlook import OutlookPublisher
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import Done, Runner
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.signals.signals import ELSEWHERE, SITEMAP
from bestbefore.addon.rfc9111.message import Head

logger = logging.getLogger(__name__)

LEASE_S = 20.0
"""The length of the lease on shards: others take them so long after their holder was killed."""
RENEW_S = 5.0
"""How often the lease is renewed."""
SHORT_OF_SHARDS_S = 1.0
"""The same while this proxy has fewer shards than its part, for which others must give some back."""
TURN_S = 1.0
"""How often candidates are written, announced ones read, and the outlook is published."""
WATCHED_AGAIN_S = 60.0
"""How often watched objects that do not take part are looked at, in case what kept them out has ended."""
RETRY_S = 60.0
"""The pause after an error. All in real seconds."""
MOST_TO_LOOK_AT = 100_000
"""The most objects that wait to be looked at; others are looked at when they are due or requested again."""


class Prefetcher(Companion):
    """The prefetching of a proxy."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._holder = secrets.token_hex(8)
        self._settings = PrefetchSettings()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._candidates: Candidates | None = None
        self._fetcher: Fetcher | None = None
        self._runner: Runner | None = None
        self._shards: frozenset[int] = frozenset()
        """The shards that this proxy holds."""
        self._shards_changed = asyncio.Event()
        self._changed: set[str] = set()
        """Objects in the shards of other proxies that are said to have changed."""
        self._to_look_at: dict[str, float] = {}
        """Objects that wait for a new estimate, with the time of the last attempt to fetch them, or -inf."""
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
        metrics, planning = service.metrics.prefetch, service.store.planning
        candidates = Candidates(
            service.store, clock, lambda: service.config.rules, self._is_never_fetched, settings, metrics
        )
        fetcher = Fetcher(
            clock,
            service.store,
            service.exchanges,
            service.origin,
            politeness,
            settings,
            metrics,
            candidates.watched,
            lambda: self._enter(candidates.watched),
        )
        candidates.watched.between_polls_s = lambda url: service.signals.evidence(url, SITEMAP).between_polls_s
        service.signals.on_index = lambda url, sitemaps: self._enter(candidates.watched.indexed(url, sitemaps))
        runner = Runner(
            clock,
            planning,
            candidates,
            politeness,
            settings.budget,
            metrics,
            self._holder,
            fetcher.fetch,
            self._ended,
            settings.budget_bytes,
        )
        self._fetcher, self._candidates, self._runner = fetcher, candidates, runner
        publisher = OutlookPublisher(clock, candidates, settings, metrics, self._holder, service.site.name)
        work: tuple[Callable[[], Coroutine[None, None, None]], ...] = (
            self._hold,
            lambda: self._load(candidates, runner),
            lambda: self._look(candidates, runner),
            lambda: self._turn(candidates, publisher),
            runner.run,
        )
        self._tasks = [asyncio.create_task(_run_forever(one)) for one in work]

    def _configured(self) -> PrefetchSettings:
        """Return the configured settings; without a budget if the proxy is offline."""
        config = self._service.config
        return replace(config.prefetch, enabled=config.prefetch.enabled and not config.settings.offline)

    def _is_never_fetched(self, url: str, host: str) -> bool:
        excluded = self._fetcher is not None and self._fetcher.is_excluded(url)
        return excluded or host == pages.HOST or self._service.settings.is_passthrough(host)

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

    def note_contact(self, url: str) -> None:
        """Renew the estimate of a candidate whose origin was contacted."""
        if self._candidates is None or self._fetcher is None:
            return
        if self._fetcher.contacted(url) or self._candidates.objects.slot_of(url) is not None:
            self._look_at(url)

    def signalled(self, url: str, at_s: float | None, kind: str) -> None:  # noqa: ARG002 - the contact finds the time
        """Put a candidate at the front: its origin says that it has changed."""
        if self._candidates is None or self._runner is None:
            return
        if self._candidates.hasten(url):
            logger.debug("%s: changed, by %s", url, kind)
            self._runner.wake.set()
        elif kind != ELSEWHERE and not self._candidates.holds(url) and len(self._changed) < MOST_TO_LOOK_AT:
            self._changed.add(url)

    def pushed_until(self, url: str, until_s: float) -> None:
        """Fetch a candidate seldom, as its changes are pushed until then."""
        if self._candidates is not None:
            self._candidates.pushed_until(url, until_s)
            self._look_at(url)

    def forgotten(self, matches: Callable[[str], bool]) -> None:
        """Let objects that were forgotten no longer take part."""
        if self._candidates is not None:
            self._tasks.append(asyncio.create_task(self._candidates.forget(matches)))

    def _enter(self, urls: Iterable[str]) -> None:
        """Let watched objects take part that do not yet."""
        candidates = self._candidates
        if candidates is not None:
            new = [url for url in urls if candidates.objects.slot_of(url) is None]
            self._service.store.planning.grow(new)

    def _look_at(self, url: str, attempted_s: float = -math.inf) -> None:
        if len(self._to_look_at) < MOST_TO_LOOK_AT:
            self._to_look_at[url] = max(attempted_s, self._to_look_at.get(url, attempted_s))
            self._service.store.planning.has_grown.set()

    def _ended(self, job: Job, done: Done) -> None:
        """Go on with an object after a job."""
        candidates, now_s = self._candidates, self._service.clock.now()
        if candidates is None:
            return
        if done.trouble:
            candidates.troubles.failed(job.url, done.trouble, now_s, done.excluded_until_s)
        elif done.outcome not in ("not-needed", "under-way"):
            candidates.troubles.fetched(job.url, now_s)
        if done.excluded_until_s is not None:
            candidates.leave(job.url)
        else:
            self._look_at(job.url, now_s if done.outcome != "not-needed" else -math.inf)

    async def close(self) -> None:
        """Stop, release the fetches in progress, and give the shards to others."""
        if self._stopping is not None:
            await self._stopping
        await self._stop()
        await self._let_go()

    async def _let_go(self) -> None:
        """Give the shards to others at once."""
        if self._settings.enabled:
            await self._service.store.planning.let_go(self._holder)

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._candidates is not None:
            await self._candidates.write()
            await self._candidates.troubles.write(self._service.store.planning)
        self._tasks, self._shards = [], frozenset()
        self._candidates = self._fetcher = self._runner = None

    def reconfigured(self) -> None:
        """Apply a changed configuration; fetches in progress are released and made later."""
        self._stopping = asyncio.create_task(self._restart(self._stopping))

    async def _restart(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await self._stop()
        if not self._configured().enabled:
            await self._let_go()
        await self.start()

    async def _hold(self) -> None:
        """Keep a part of the shards."""
        while True:
            held = await self._service.store.planning.hold(self._holder, LEASE_S)
            if held is not None and held.shards != self._shards:
                self._shards = held.shards
                self._shards_changed.set()
            is_short = held is not None and len(held.shards) < held.part
            await asyncio.sleep(SHORT_OF_SHARDS_S if is_short else RENEW_S)

    async def _load(self, candidates: Candidates, runner: Runner) -> None:
        """Go on with other shards, in the background."""
        while True:
            self._shards_changed.clear()
            if candidates.shards != self._shards:
                await candidates.troubles.read(self._service.store.planning)
                await candidates.hold(self._shards)
                runner.wake.set()
            await self._shards_changed.wait()

    async def _look(self, candidates: Candidates, runner: Runner) -> None:
        """Look at objects that were contacted, or are asked for more."""
        planning = self._service.store.planning
        while True:
            await planning.has_grown.wait()
            planning.has_grown.clear()
            looked, self._to_look_at = self._to_look_at, {}
            grown, planning.grown = planning.grown, set()
            await candidates.look({**dict.fromkeys(grown), **looked}, looked)
            runner.wake.set()

    async def _turn(self, candidates: Candidates, publisher: OutlookPublisher) -> None:
        """Exchange with the other proxies on the store what concerns candidates."""
        planning, position = self._service.store.planning, 0
        clock = self._service.clock
        watched_again_s = clock.monotonic() + WATCHED_AGAIN_S
        while True:
            await candidates.write()
            await candidates.set_price()
            await candidates.troubles.write(planning)
            if self._changed:
                changed, self._changed = self._changed, set()
                await planning.announce(changed, changed=True)
            announced = await planning.announced(position)
            position = announced.position
            planning.grow([url for url in announced.grown if candidates.holds(url)])
            for url in announced.changed:
                if candidates.holds(url) and not self._service.signals.is_pushed(url):
                    self.signalled(url, None, "another proxy")
            await publisher.publish(planning)
            if clock.monotonic() >= watched_again_s:
                watched_again_s = clock.monotonic() + WATCHED_AGAIN_S
                await candidates.watched.exchange(self._service.store.positions, clock.now())
                await candidates.look_at_watched()
            await asyncio.sleep(TURN_S)


async def _run_forever(work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run endless work, and restart it after an unexpected exception."""
    while True:
        try:
            await work()
        except Exception:
            logger.exception("prefetching failed and is tried again: this is a bug in bestbefore")
        await asyncio.sleep(RETRY_S)
