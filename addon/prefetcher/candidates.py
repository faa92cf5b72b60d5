"""The candidates that this proxy holds: they enter, are estimated at each contact, and leave."""

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import batched

from cachetools import LRUCache

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.engine.learning import CLOCK_SKEW_S, Record
from bestbefore.addon.engine.signals.evidence import SELDOM_S
from bestbefore.addon.prefetch_limits import PrefetchLimits
from bestbefore.addon.prefetcher.cost import FetchCosts
from bestbefore.addon.prefetcher.due_jobs import Job
from bestbefore.addon.prefetcher.eligibility import ASKED_RANGES, MIN_REQUESTS, refused_url
from bestbefore.addon.prefetcher.estimates import FetchTerms, candidate_of, clockwork_of, estimates_of, teaches
from bestbefore.addon.prefetcher.objects import Objects
from bestbefore.addon.prefetcher.threads import in_thread
from bestbefore.addon.prefetcher.troubles import Troubles
from bestbefore.addon.prefetcher.watching import Watched
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.rfc9111.message import host_and_path
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.backend.keeper import SHARDS, digest_of, shard_of
from bestbefore.addon.store.candidate import Candidate, CandidateTable
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.clockwork.beats import Clockwork
from bestbefore.policies.prefetch.online.estimate import SHORTEST_S
from bestbefore.policies.prefetch.online.schedule import Schedule

logger = logging.getLogger(__name__)

AIMED_PART = 0.95
"""The part of the budget that the schedule aims at. The budget applies to any 24 hours, and contacts do not come
evenly: if all of it were aimed at, fetches would often wait for the next hour."""
LEAST_PER_HOUR = 1e-6
"""The least budget of the schedule, where a target takes no fetches."""
NEW_BUDGET_PART = 0.02
"""The relative change of what a target takes from which the schedule's budget follows: it changes with each contact."""
LOOKED_AT_ONCE = 64
"""How many objects are looked at together."""
MANY = 20_000
"""For so many objects the price is computed in a thread: it takes 60 ms of the processor, and more where it falls."""
LOADED_AT_ONCE = 500
"""How many candidates are loaded before requests are served again: some milliseconds."""
MOST_PUSHED = 10_000


class Candidates:
    """The objects in the shards of this proxy, and the schedule of their fetches."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rules: Callable[[], Rules],
        is_never_fetched: Callable[[str, str], bool],
        settings: PrefetchSettings,
        metrics: PrefetchMetrics,
    ) -> None:
        """`rules` returns the rules in force; `is_never_fetched` tells by URL and host what has no place here now."""
        self.objects = Objects()
        self.shards: frozenset[int] = frozenset()
        self.loaded = asyncio.Event()
        """Set once the candidates of the shards first held are here."""
        self._steady = asyncio.Event()
        """Unset while the price is computed in a thread: objects and schedule must not change then."""
        self._steady.set()
        self._deferred: list[Callable[[], None]] = []
        """The changes that wait for that."""
        self._store = store
        self._clock = clock
        self._rules = rules
        self._is_never_fetched = is_never_fetched
        self.watched = Watched(settings.watched)
        self.troubles = Troubles(self.watched, clock)
        self._evenly, self._settings = settings.timing == "even", settings
        self._costs = FetchCosts(settings.budget, settings.budget_bytes)
        self._aimed_per_hour = AIMED_PART * settings.budget.per_day / 24.0
        self._per_hour = self._aimed_per_hour
        self._metrics = metrics
        self._groups = ExpiryEvaluator(store, rules)
        self._unwritten: dict[str, Candidate | None] = {}
        self._pushed: LRUCache[str, float] = LRUCache(MOST_PUSHED)
        """Until when changes of an object are pushed, policy time."""
        self.schedule = Schedule(settings.objective, self._aimed_per_hour, clock.now(), settings.budget.period_s)

    def __len__(self) -> int:
        return len(self.objects)

    def holds(self, url: str) -> bool:
        """Whether the shard of an object is held by this proxy."""
        return shard_of(digest_of(url)) in self.shards

    # The budget

    @property
    def _part_per_hour(self) -> float:
        """The part of the budget for the shards of this proxy."""
        return self._aimed_per_hour * len(self.shards) / SHARDS

    async def aim(self, target_per_day: float) -> None:
        """Go on with the fetches that the target takes, if the budget allows them."""
        per_hour = min(self._part_per_hour, max(target_per_day / 24.0, LEAST_PER_HOUR))
        if abs(per_hour - self._per_hour) > NEW_BUDGET_PART * self._per_hour:
            await self._set_budget(per_hour)

    async def _set_budget(self, per_hour: float) -> None:
        self._per_hour = per_hour
        await self._compute(lambda: self.schedule.set_budget(per_hour, self._clock.now()))

    def defer(self, until_s: float) -> None:
        """Make no fetches until then, as the budget is spent."""
        if self._is_ready:
            self.schedule.defer(self._clock.now(), until_s, LOOKED_AT_ONCE)

    # Shards

    async def hold(self, shards: frozenset[int]) -> None:
        """Go on with these shards: drop the others, and load those that are new."""
        lost, gained = self.shards - shards, shards - self.shards
        self.shards = shards
        if lost:
            for part in batched(self.objects.in_shards(lost), LOADED_AT_ONCE):
                await self._steady.wait()
                for slot in part:
                    self._remove(slot)
                await asyncio.sleep(0)
        if not gained:
            await self._set_budget(self._part_per_hour)
            return
        had = len(self)
        if not had:
            self.loaded.clear()
        for shard in sorted(gained):
            await self._load(shard)
        if len(self) == had:
            await self._search()
        await self.look_at_watched()
        await self._set_budget(self._part_per_hour)
        self.loaded.set()
        logger.debug("%d candidates in %d shards", len(self), len(shards))

    async def look_at_watched(self) -> None:
        """Look at watched objects that do not take part."""
        await self.look([url for url in self.watched if self.holds(url) and self.objects.slot_of(url) is None])

    async def _load(self, shard: int) -> None:
        async for part in self._store.planning.candidates(shard):
            for piece in part.pieces(LOADED_AT_ONCE):
                await self._steady.wait()
                if shard in self.shards:
                    self._enter(piece, list(map(self._limits, piece.urls)))
                await asyncio.sleep(0)

    async def set_price(self) -> None:
        """Compute the price of a fetch again, if it is time."""
        if self.loaded.is_set() and self._steady.is_set() and self.schedule.is_price_due(self._clock.now()):
            await self._compute(lambda: self.schedule.set_price(self._clock.now()))

    async def _compute(self, change: Callable[[], None]) -> None:
        """Make a long change of the schedule; in a thread if there are many objects."""
        await self._steady.wait()
        if len(self) < MANY:
            change()
            return
        self._steady.clear()
        try:
            await in_thread(change)
        finally:
            self._steady.set()
            deferred, self._deferred = self._deferred, []
            for one in deferred:
                one()

    def _when_steady(self, change: Callable[[], None]) -> None:
        if self._steady.is_set():
            change()
        else:
            self._deferred.append(change)

    async def _search(self) -> None:
        """Look at all objects that were requested: these shards have no candidates yet."""
        async for urls in self._store.planning.wanted():
            await self.look(urls)

    def _limits(self, url: str) -> PrefetchLimits | None:
        """Return the limits of the fetches of an object that may enter; None if it must not."""
        try:
            host, path = host_and_path(url)
        except ValueError:
            return None
        if refused_url(url) is not None or self._is_never_fetched(url, host):
            return None
        return self._rules().rule_for(host, path).prefetch_limits

    def _enter(self, table: CandidateTable, limits: Sequence[PrefetchLimits | None]) -> None:
        now_s, terms, places = self._clock.now(), list[FetchTerms](), list[int]()
        for i, (url, own) in enumerate(zip(table.urls, limits, strict=True)):
            if own is not None and own.prefetch != "never":
                least_s = SELDOM_S if self._pushed.get(url, -math.inf) > now_s else self.watched.least_s(url)
                terms.append(FetchTerms(own, least_s, self.troubles.wait_s(url), self.watched.longest_s(url)))
                places.append(i)
        entering = table.only(places)
        estimates = estimates_of(entering, terms, self._costs.of(entering), evenly=self._evenly)
        self.schedule.put_all(self.objects.add_all(entering), estimates)

    # Single objects

    async def look(self, urls: Iterable[str], attempted_s: Mapping[str, float] | None = None) -> None:
        """Estimate objects; those that are in demand enter, others leave. Those of other shards are announced.

        `attempted_s`: when some were last tried; they are next due as if that had been a contact.
        """
        others = []
        for part in batched(urls, LOOKED_AT_ONCE):
            here = []
            for url in part:
                if self.holds(url):
                    here.append(url)
                elif refused_url(url) is None:
                    others.append(url)
            await self._look(here, attempted_s or {})
            await asyncio.sleep(0)
        if others:
            await self._store.planning.announce(others)

    async def _look(self, urls: Collection[str], attempted_s: Mapping[str, float]) -> None:
        looked = [url for url in urls if self.objects.slot_of(url) is not None or self._limits(url) is not None]
        if not looked:
            return
        asked = await self._store.planning.asked(looked, ASKED_RANGES)
        found: dict[str, Candidate] = {}
        limits, hastened = list[PrefetchLimits](), list[str]()
        for i, url in enumerate(looked):
            record = await self._store.record(url)
            if record is None and asked is None:  # the store is down: what is known stays
                self.postpone(url, self._clock.now() + SHORTEST_S)
                continue
            demand, (host, path) = self._known_demand(url) if asked is None else asked[i], host_and_path(url)
            rule = self._rules().rule_for(host, path)
            stays = url in self.watched or rule.prefetch_limits.prefetch == "always"
            if stays and not any(demand.values()):
                demand = dict.fromkeys(self._known_demand(url), 0)  # from where clients once asked
            is_known = record is not None and teaches(record)
            if not (is_known and (stays or sum(demand.values()) >= MIN_REQUESTS)) and url not in self.watched:
                self.leave(url)
                continue
            group = await self._groups.group(host, rule, "" if record is None else record.cache_group)
            if record is None:
                record = Record(url, since_s=self._clock.now(), last_contact_s=self._clock.now())
                hastened.append(url)
            self._measure(url, record)
            await self.troubles.recheck(url, self._store)
            candidate = candidate_of(record, group, demand, self._clockwork(url, record))
            candidate = candidate._replace(expected_bytes=await self._costs.expected_bytes(record, self._store))
            tried_s = max(attempted_s.get(url, -math.inf), self._known_contact_s(url))
            found[url] = candidate._replace(contact_s=max(candidate.contact_s, tried_s))
            limits.append(rule.prefetch_limits)
        await self._steady.wait()
        self._enter(CandidateTable.of(found), limits)
        if math.isnan(self.schedule.price):  # without one no due time of these objects would be known
            await self._compute(lambda: self.schedule.set_price(self._clock.now()))
        for url in [url for url in hastened if url not in attempted_s]:
            self.hasten(url)
        for url, candidate in found.items():
            slot = self.objects.slot_of(url)
            due_s = None if slot is None else self.schedule.due_s(slot, candidate.contact_s)
            self._unwritten[url] = candidate._replace(due_s=due_s if due_s is not None and due_s < math.inf else None)

    def _known_demand(self, url: str) -> dict[str, int]:
        """Return the demand for an object as it was known before; that of one from unknown ranges is in the first."""
        slot = self.objects.slot_of(url)
        if slot is None:
            return {}
        ranges = self.objects.asked_from(slot) or ("",)
        return {**dict.fromkeys(ranges, 0), ranges[0]: self.objects.requests(slot)}

    def _clockwork(self, url: str, record: Record) -> Clockwork | None:
        """Return the beats of an object: those known, unless an update was found since they were looked for."""
        slot = self.objects.slot_of(url)
        is_new = slot is None or any(u.by_s > self.schedule.contact_s(slot) for u in record.updates)
        return clockwork_of(record) if slot is None or is_new else self.schedule.clockwork(slot)

    def _known_contact_s(self, url: str) -> float:
        """Return the last contact or attempt that the schedule knows, unless the clock was set back since.

        That of the record may be earlier: of a response with an Age it is when the response was current.
        """
        slot = self.objects.slot_of(url)
        known_s = -math.inf if slot is None else self.schedule.contact_s(slot)
        return known_s if known_s <= self._clock.now() + CLOCK_SKEW_S else -math.inf

    def _measure(self, url: str, record: Record) -> None:
        """Record how fresh the copy was between the contact that is known and the last one."""
        slot = self.objects.slot_of(url)
        if slot is None:
            return
        since_s, until_s = self.schedule.contact_s(slot), record.last_contact_s
        if since_s < until_s <= self._clock.now() + CLOCK_SKEW_S:
            missed_s = [max(u.point_s, since_s) for u in record.updates if u.by_s > since_s]
            self._metrics.observed(max(self.objects.requests(slot), MIN_REQUESTS), since_s, until_s, missed_s)

    def leave(self, url: str) -> None:
        """Let an object no longer take part."""
        self._when_steady(lambda: self._leave(url))

    def _leave(self, url: str) -> None:
        slot = self.objects.slot_of(url)
        if slot is not None:
            self._remove(slot)
            self._unwritten[url] = None

    def _remove(self, slot: int) -> None:
        self.schedule.remove(slot)
        self.objects.remove(slot)

    # The schedule

    def next_s(self) -> float | None:
        """Return when `take` may have a job, at the earliest, policy time; None if it will have none."""
        return self.schedule.next_s() if self._is_ready else None

    @property
    def _is_ready(self) -> bool:
        """Whether all objects are here, and the price is known; where they are few, `take` computes it."""
        is_known = len(self) < MANY or not self.schedule.is_price_due(self._clock.now())
        return self.loaded.is_set() and self._steady.is_set() and is_known

    def take(self, now_s: float) -> Job | None:
        """Return a job that is due, which leaves the schedule until its object has a new estimate; None if none is."""
        while self._is_ready and (slot := self.schedule.take(now_s)) is not None:
            url, contact_s = self.objects.url(slot), self.schedule.contact_s(slot)
            opens_s = self._opens_s(url, now_s)
            if opens_s <= now_s:
                return Job(url, now_s, contact_s, self.objects.asked_from(slot))
            self.schedule.postpone(slot, opens_s)
        return None

    def postpone(self, url: str, until_s: float) -> None:
        """Put a job back that was taken."""
        slot = self.objects.slot_of(url)
        if slot is not None:
            self.schedule.postpone(slot, until_s)

    def hasten(self, url: str) -> bool:
        """Make an object due now; whether it takes part."""
        slot = self.objects.slot_of(url)
        if slot is not None:
            self._when_steady(lambda: self._hasten(url))
        return slot is not None

    def _hasten(self, url: str) -> None:
        slot = self.objects.slot_of(url)
        if slot is not None:
            self.schedule.hasten(slot, self._clock.now())

    def upcoming(self, most: int) -> list[tuple[str, float, float, int, Clockwork | None]]:
        """Return the next objects to be due: URL, due time, updates per hour, requests and beats of each."""
        schedule, objects = self.schedule, self.objects
        return [
            (objects.url(slot), due_s, schedule.rate_per_hour(slot), objects.requests(slot), schedule.clockwork(slot))
            for slot, due_s in self.schedule.upcoming(most, self._clock.now())
        ]

    def pushed_until(self, url: str, until_s: float) -> None:
        """Fetch an object seldom, from its next estimate on, as its changes are pushed until then."""
        self._pushed[url] = until_s

    def is_current(self, job: Job) -> bool:
        """Whether an object takes part, was not contacted since its job became due, and has no quiet hours now."""
        slot, now_s = self.objects.slot_of(job.url), self._clock.now()
        is_due = slot is not None and self.schedule.contact_s(slot) <= job.contact_s
        return is_due and self._opens_s(job.url, now_s) <= now_s

    def _opens_s(self, url: str, now_s: float) -> float:
        return self._rules().rule_for(*host_and_path(url)).prefetch_limits.opens_s(now_s)

    # The store

    async def forget(self, matches: Callable[[str], bool]) -> None:
        """Let objects that were forgotten no longer take part; the store has removed them."""
        for part in batched(self.objects, LOADED_AT_ONCE):
            await self._steady.wait()
            for slot in part:
                url = self.objects.url(slot)
                if matches(url):
                    self._remove(slot)
                    self._unwritten.pop(url, None)
            await asyncio.sleep(0)

    async def write(self) -> None:
        """Write changed candidates to the store, for a restart and for other proxies."""
        unwritten, self._unwritten = self._unwritten, {}
        if unwritten and not await self._store.planning.put_candidates(unwritten):
            self._unwritten = {**unwritten, **self._unwritten}
