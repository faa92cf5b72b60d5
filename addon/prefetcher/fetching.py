"""The execution of a single prefetch, through the same engine, cache and histories as clients' requests."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.response import GONE
from bestbefore.addon.prefetcher.cost import HEAD_BYTES
from bestbefore.addon.prefetcher.due_jobs import Job
from bestbefore.addon.prefetcher.eligibility import Refusal, fetch_of
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.robots import EVERYTHING, MAX_BYTES, NOTHING, Robots
from bestbefore.addon.prefetcher.runner import BUDGET_SPENT, Done
from bestbefore.addon.prefetcher.watching import Watched, watched_fetch_of
from bestbefore.addon.proxy.access.reach import Reach
from bestbefore.addon.proxy.exchange.context import Prefetched
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.message import Fields, Request, Target
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S, HOUR_S

FETCH_S = 120.0
"""The longest that a fetch may take, in real seconds."""
ROBOTS_KEPT_S = DAY_S
"""How long a robots.txt is cached (RFC 9309 2.4)."""
ROBOTS_RETRY_S = HOUR_S
"""How long nothing is fetched from an origin whose robots.txt is unavailable (RFC 9309 2.3.1.4)."""
ORIGINS_KEPT = 4096
EXCLUDED_KEPT = 16_384
EXCLUDED_S = DAY_S

type MayContact = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class _Read:
    """The rules of a robots.txt, and until when they are cached."""

    robots: Robots
    until_s: float
    why: str = ""
    """Why it was not available; empty if it was."""


_EVERYTHING = _Read(EVERYTHING, math.inf)


@dataclass(frozen=True, slots=True)
class _Excluded:
    """The reason why an object is excluded, and until when."""

    why: str
    until_s: float


@dataclass(slots=True, eq=False)
class Fetcher:
    """Executes single jobs."""

    clock: Clock
    store: Store
    exchanges: Exchanges
    origin: Origin
    politeness: Politeness
    settings: PrefetchSettings
    metrics: PrefetchMetrics
    watched: Watched
    on_sitemaps: Callable[[], object] = lambda: None
    """Called when a robots.txt has named sitemaps, which are watched from then on."""
    _robots: LRUCache[str, _Read] = field(init=False, default_factory=lambda: LRUCache(ORIGINS_KEPT))
    """By scheme and authority."""
    _excluded: LRUCache[str, _Excluded] = field(init=False, default_factory=lambda: LRUCache(EXCLUDED_KEPT))
    """Objects that are not eligible, by URL."""

    def is_excluded(self, url: str) -> bool:
        """Whether an object is not to be fetched now."""
        known, now_s = self._excluded.get(url), self.clock.now()
        return known is not None and now_s < known.until_s <= now_s + EXCLUDED_S

    def contacted(self, url: str) -> bool:
        """Note a contact with an object; whether it was left out for want of a copy, and may be fetched now."""
        known = self._excluded.get(url)
        if known is None or known.why != Refusal.NO_COPY:
            return False
        del self._excluded[url]
        return True

    async def fetch(self, job: Job, may_contact: MayContact) -> Done:
        """Execute a job that this process has taken. `may_contact` is called before any contact.

        A job that takes too long is cancelled, and its object is not fetched again for a day.
        """
        try:
            async with asyncio.timeout(FETCH_S):
                return await self._fetch(job, may_contact)
        except TimeoutError:
            return self._exclude(job.url, "too-slow")

    async def _fetch(self, job: Job, may_contact: MayContact) -> Done:
        is_watched = job.url in self.watched
        request = await self._request_of(job, is_watched=is_watched)
        if isinstance(request, Refusal):
            return self._exclude(job.url, request)
        asked, reach = request
        before = await self.store.record(job.url)
        since_s = self.clock.now() if before is None else before.last_contact_s
        if since_s > job.contact_s and before is not None:
            return Done("not-needed")  # a client of another proxy was faster
        read = self._known_robots(asked.target) if self.settings.robots else _EVERYTHING
        if read is not None and not read.robots.allows(asked.target.path):
            refused = self._exclude(job.url, "robots", read.until_s)
            return replace(refused, trouble=f"robots.txt was not available ({read.why})") if read.why else refused
        if not await may_contact():
            return Done(BUDGET_SPENT, retry_s=0.0)
        if read is None:
            await self._read_robots(asked, reach, job)
            return Done("robots-read", retry_s=self.settings.per_host_interval)
        self.watched.wanted(job.url, self.clock.now())
        try:
            fetched = await self.exchanges.prefetch(asked, reach, watched=is_watched)
        except OriginError:
            return Done("broken-off", trouble="broken-off", received_bytes=HEAD_BYTES)
        if fetched is None:
            return Done("under-way")
        if fetched.learnt is not None:
            self.metrics.found(_delays_s(fetched.learnt, since_s))
        if fetched.status is None:
            self.politeness.unanswered(registrable_domain(asked.target.host), self.clock.now())
        if fetched.received_bytes > self.exchanges.site.max_cached_body:
            # It is not stored, so the next fetch would transfer all of it again.
            return replace(self._exclude(job.url, "too-large"), received_bytes=fetched.received_bytes)
        return Done(_outcome(fetched), trouble=_trouble(fetched), received_bytes=HEAD_BYTES + fetched.received_bytes)

    async def _request_of(self, job: Job, *, is_watched: bool) -> tuple[Request, Reach] | Refusal:
        copies = (await self.store.copies(job.url)).copies
        if not is_watched:
            return fetch_of(copies, job.asked_from, self.settings.user_agent)
        asked_from = (*job.asked_from, *self.watched.asked_from(job.url))
        return watched_fetch_of(job.url, copies, asked_from, self.settings.user_agent)

    def _exclude(self, url: str, why: str, until_s: float | None = None) -> Done:
        until_s = self.clock.now() + EXCLUDED_S if until_s is None else until_s
        self._excluded[url] = _Excluded(why, until_s)
        return Done(why, excluded_until_s=until_s, trouble=why)

    def _known_robots(self, target: Target) -> _Read | None:
        read = self._robots.get(target.origin)
        now_s = self.clock.now()
        return read if read is not None and now_s < read.until_s <= now_s + ROBOTS_KEPT_S else None

    async def _read_robots(self, asked: Request, reach: Reach, job: Job) -> None:
        """Read an origin's robots.txt. A redirect, which may lead anywhere, is not followed: it allows all paths."""
        target = Target.of(asked.target.scheme, asked.target.host, asked.target.port, "/robots.txt")
        request = Request("GET", target, Fields([("User-Agent", self.settings.user_agent)]))
        robots, kept_s, why = NOTHING, ROBOTS_RETRY_S, ""
        try:
            fetched = await self.origin.fetch(request, reach=reach)
            try:
                if fetched.head.status == 200:
                    content = await _beginning(fetched.chunks)
                    # In a thread: the longest file takes a third of a second.
                    robots, kept_s = await asyncio.to_thread(Robots.parse, content), ROBOTS_KEPT_S
                elif 300 <= fetched.head.status < 500 and fetched.head.status != 429:
                    robots, kept_s = EVERYTHING, ROBOTS_KEPT_S
                else:
                    why = f"status {fetched.head.status}"
            finally:
                fetched.close()
        except OriginError as error:
            robots, kept_s, why = NOTHING, ROBOTS_RETRY_S, str(error)
            self.politeness.unanswered(registrable_domain(target.host), self.clock.now())
        self._robots[target.origin] = _Read(robots, self.clock.now() + kept_s, why)
        if self.settings.sitemaps and robots is not NOTHING and not self.watched.is_sitemap(job.url):
            self.watched.named(target.host, robots.sitemaps, job.asked_from, self.clock.now())
            self.on_sitemaps()


async def _beginning(chunks: AsyncIterator[bytes]) -> bytes:
    """Read the start of a robots.txt, up to the limit."""
    content = b""
    async for chunk in chunks:
        content += chunk
        if len(content) > MAX_BYTES:
            break
    return content


def _outcome(fetched: Prefetched) -> str:
    """Return the outcome as a label of metrics."""
    if fetched.status is None:
        return "unanswered"
    is_first = fetched.learnt is not None and fetched.learnt.record.contacts == 1
    if fetched.status >= 400 and (is_first or fetched.status not in GONE):
        return "refused-by-origin"
    if fetched.outcome is Outcome.PASSED_ON:
        return "redirected"
    if is_first:
        return "first"
    if fetched.learnt is not None and fetched.learnt.changed:
        return "updated"
    return "unchanged" if fetched.outcome is Outcome.VALIDATED or fetched.learnt is not None else "replaced"


def _trouble(fetched: Prefetched) -> str:
    if fetched.status is None:
        return "unanswered"
    return "" if fetched.status in (200, 304) else f"status {fetched.status}"


def _delays_s(learnt: RecordChange, since_s: float) -> Iterable[float]:
    """Yield the delay of each update of known time that this contact detected."""
    new = set(learnt.new_updates_s)
    seen_s = learnt.record.last_contact_s
    return [seen_s - u.by_s for u in learnt.record.updates if u.exact and u.by_s in new and u.by_s > since_s]
