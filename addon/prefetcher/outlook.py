"""The outlook on the schedules of all proxies on a store: what they expect, and their next fetches with reasons."""

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from heapq import nsmallest

import msgspec

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.admin.units import span
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.store.backend.keeper import SHARDS, WANTS_KEPT_DAYS
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.clockwork.beats import Clockwork, described
from bestbefore.policies.prefetch.online.expectation import Expectation
from bestbefore.policies.prefetch.online.schedule import TargetBudget
from bestbefore.policies.units import HOUR_S

logger = logging.getLogger(__name__)

LISTED = 20
"""How many of its next fetches a proxy tells."""
COMPUTED_EVERY_S = 1e-4
"""How often the expected means are computed again, real seconds for each object."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A fetch to come."""

    url: str
    due_s: float
    """Policy time; earlier than now if it waits for its turn."""
    why: str
    """The reason, as text."""


@dataclass(frozen=True, slots=True)
class Means:
    """Means of objects, weighted by requests. None where they are unknown or infinite."""

    freshness: float | None = None
    """The share of time in which the copy was current."""
    age_s: float | None = None
    """For how long the copy had been outdated, averaged over time."""
    delay_s: float | None = None
    """The time from an update to the contact that finds it."""


@dataclass(frozen=True, slots=True)
class Troubled:
    """A watched object that could not be fetched."""

    url: str
    what: str
    """The reason, or the status of the answer."""
    at_s: float
    """When that was, policy time."""
    failures: int = 1
    """How many attempts in a row have failed."""
    again_s: float | None = None
    """When it is tried again, policy time; None: never."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The schedule of a proxy at one moment, or those of several together."""

    made_s: float
    """Policy time."""
    budget_per_day: float
    objective: str
    objects: int
    shards: int
    """The shards, of 256, in which these objects are."""
    price: float | None
    """The index at which an object is due; None before the first object."""
    contacts_per_day: float
    """How many contacts this price is expected to bring."""
    expected: Means
    measured: Means
    """Since the proxies have started."""
    next: tuple[Fetch, ...]
    proxies: int = 1
    """0: none runs, and only `objects` and `next` are known."""
    workers: int = 1
    """The processes of these proxies together."""
    proxy: str = ""
    """The name of the proxy, the same for all its workers; empty for several."""
    spent_today: int = 0
    """How many fetches all proxies on the store have made in the last 24 hours of the clock."""
    target: str = ""
    """What the fetches are to reach; empty: as much as the budget allows."""
    target_per_day: float | None = None
    """How many fetches a day that takes; None without a target."""
    target_best: float | None = None
    """The best that any number of fetches brings, a share or seconds; None: they can reach the target."""
    watched: int = 0
    """How many objects are watched, by the configuration of the command."""
    troubled: tuple[Troubled, ...] = ()
    """Those of them that could not be fetched last time."""


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Outlook)


class OutlookPublisher:
    """Publishes the outlook of one proxy."""

    def __init__(
        self,
        clock: Clock,
        candidates: Candidates,
        settings: PrefetchSettings,
        metrics: PrefetchMetrics,
        holder: str,
        proxy: str,
    ) -> None:
        """`holder`: the name of this process in leases. `proxy`: the name of the proxy."""
        self._clock = clock
        self._candidates = candidates
        self._settings = settings
        self._metrics = metrics
        self._holder = holder
        self._proxy = proxy
        self._expected = Expectation(0.0, 1.0, 0.0, 0.0)
        self._target: TargetBudget | None = None
        self._reported = False
        """Whether the log says that the target will not be reached."""
        self._again_at_s = 0.0
        """When to compute what is expected again, by the monotonic clock."""

    def _compute(self) -> tuple[Expectation, TargetBudget | None]:
        """Return what is expected, and what the target takes."""
        schedule, target = self._candidates.schedule, self._settings.target
        return schedule.expected(), None if target is None else schedule.budget_for(target.measure, target.value)

    async def publish(self, planning: Planning) -> None:
        """Publish the outlook, and set the metrics."""
        candidates, clock = self._candidates, self._clock
        if not candidates.loaded.is_set():
            return
        if clock.monotonic() >= self._again_at_s:
            # In a thread: a million objects take a second.
            self._expected, self._target = await asyncio.to_thread(self._compute)
            if self._target is not None:
                await candidates.aim(24.0 * self._target.per_hour)
                self._report(self._target)
            self._again_at_s = clock.monotonic() + len(candidates) * COMPUTED_EVERY_S
        expected, settings = self._expected, self._settings
        self._metrics.scheduled(len(candidates), len(candidates.shards), candidates.schedule.price, expected)
        target_per_day = None if self._target is None else 24.0 * self._target.per_hour
        self._metrics.target_per_day.set(target_per_day or 0.0)
        await planning.put_outlook(self._holder, _encoder.encode(Outlook(
            clock.now(),
            settings.budget.per_day,
            settings.objective,
            len(candidates),
            len(candidates.shards),
            _finite(candidates.schedule.price),
            24.0 * expected.cost_per_hour,
            # Without objects a mean says nothing, though all of them are fresh.
            Means(*map(_finite, (expected.freshness, expected.age_s, expected.delay_s))) if candidates else Means(),
            Means(*self._metrics.measured),
            tuple(
                Fetch(url, due_s, why(rate_per_hour, requests, clockwork))
                for url, due_s, rate_per_hour, requests, clockwork in candidates.upcoming(LISTED)
            ),
            target="" if settings.target is None else str(settings.target),
            target_per_day=target_per_day,
            target_best=None if self._target is None else self._target.best,
            proxy=self._proxy,
        )))  # fmt: skip

    def _report(self, needed: TargetBudget) -> None:
        """Log once that the target will not be reached."""
        settings, per_day = self._settings, 24.0 * needed.per_hour
        here_per_day = settings.budget.per_day * len(self._candidates.shards) / SHARDS
        if self._reported or not len(self._candidates) or (needed.best is None and per_day <= here_per_day):
            return
        self._reported = True
        what = target_text(str(settings.target), per_day, needed.best, here_per_day)
        logger.warning("[prefetch] target: %s; `bestbefore plan --live` shows what is expected", what)


def target_text(target: str, per_day: float, best: float | None, budget_per_day: float) -> str:
    """Say what a target takes, and whether that is too much."""
    if best is not None:
        shown = f"{best:.3f}" if target.startswith("freshness") else span(best)
        return f"{target} is out of reach: at best {shown}, with {per_day:.4g} fetches a day"
    beyond = f", more than the budget of {budget_per_day:.4g}" if per_day > budget_per_day else ""
    return f"{target} takes {per_day:.4g} fetches a day{beyond}"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


async def outlook(
    store: Store, now_s: float, most: int = LISTED, watched: Collection[str] = ()
) -> Outlook | None:
    """Return the outlook of all proxies on the store together; None if there are no candidates.

    Without a proxy, it has only the next fetches as they were last stored. `watched`: the objects that are watched.
    """
    found = await _outlook(store, now_s, most)
    if found is None:
        return None
    troubles = await store.planning.troubles()
    troubled = tuple(Troubled(url, *troubles[url]) for url in sorted(watched) if url in troubles)
    return replace(found, watched=len(watched), troubled=troubled)


async def _outlook(store: Store, now_s: float, most: int) -> Outlook | None:
    found = []
    for encoded in await store.planning.outlooks():
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found.append(_decoder.decode(encoded))
    spent = await store.planning.spent(int(now_s // HOUR_S) - 23)
    if found:
        return replace(together(found, most), spent_today=spent)
    stored = await _stored(store, now_s, most)
    return None if stored is None else replace(stored, spent_today=spent)


async def _stored(store: Store, now_s: float, most: int) -> Outlook | None:
    """Return what is stored of the candidates, if no proxy runs; None if there are none."""
    number, found = 0, list[Fetch]()
    for shard in range(SHARDS):
        async for part in store.planning.candidates(shard):
            number += len(part)
            dues = (
                Fetch(url, one.due_s, why(one.rate_per_hour, one.requests, one.clockwork))
                for url, one in part.items() if one.due_s is not None
            )  # fmt: skip
            found = nsmallest(most, [*found, *dues], key=lambda fetch: fetch.due_s)
    if not number:
        return None
    return Outlook(now_s, 0.0, "", number, 0, None, 0.0, Means(), Means(), tuple(found), proxies=0)


def together(found: Sequence[Outlook], most: int) -> Outlook:
    """Return several outlooks as one; means and the price are by the numbers of objects."""
    last = max(found, key=lambda one: one.made_s)
    sizes = [max(one.objects, 1) for one in found]

    def mean(of: Callable[[Outlook], float | None]) -> float | None:
        known = [(value, size) for one, size in zip(found, sizes, strict=True) if (value := of(one)) is not None]
        return sum(value * size for value, size in known) / sum(size for _, size in known) if known else None

    def means(of: Callable[[Outlook], Means]) -> Means:
        return Means(
            mean(lambda one: of(one).freshness), mean(lambda one: of(one).age_s), mean(lambda one: of(one).delay_s)
        )

    return Outlook(
        last.made_s,
        last.budget_per_day,
        last.objective,
        sum(one.objects for one in found),
        sum(one.shards for one in found),
        mean(lambda one: one.price),
        sum(one.contacts_per_day for one in found),
        means(lambda one: one.expected),
        means(lambda one: one.measured),
        tuple(sorted((fetch for one in found for fetch in one.next), key=lambda fetch: fetch.due_s)[:most]),
        proxies=len({one.proxy for one in found}),
        workers=len(found),
        target=last.target,
        target_per_day=sum(one.target_per_day or 0.0 for one in found) if last.target else None,
        target_best=mean(lambda one: one.target_best),
    )


def why(rate_per_hour: float, requests: int, clockwork: Clockwork | None = None) -> str:
    """Return the reason for the fetches of an object."""
    beats = "" if clockwork is None else f" ({described(clockwork)})"
    return f"changes {_times(24.0 * rate_per_hour)}{beats}, asked for {requests} times in {WANTS_KEPT_DAYS} days"


def _times(per_day: float) -> str:
    """A rate in words: `3.5 times a day`, `once in 4.0 days`."""
    if per_day >= 1.0:
        return f"{per_day:.3g} times a day"
    return f"once in {1.0 / per_day:.3g} days" if per_day > 0.0 else "never"
