"""The metrics of prefetching."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from bestbefore.policies.prefetch.online.expectation import Expectation

DELAY_BUCKETS_S = (10.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 86_400.0, 604_800.0)


@dataclass(slots=True)
class _Measured:
    """Sums over the time between contacts, weighted."""

    observed_s: float = 0.0
    fresh_s: float = 0.0
    age_s2: float = 0.0
    late_s: float = 0.0
    updates: float = 0.0

    def add(self, weight: float, since_s: float, until_s: float, updates_s: Sequence[float]) -> None:
        first_s = min(updates_s, default=until_s)
        self.observed_s += weight * (until_s - since_s)
        self.fresh_s += weight * (first_s - since_s)
        self.age_s2 += weight * (until_s - first_s) ** 2 / 2.0
        self.late_s += weight * sum(until_s - update_s for update_s in updates_s)
        self.updates += weight * len(updates_s)

    @property
    def means(self) -> tuple[float | None, float | None, float | None]:
        """Freshness, age and delay."""
        if not self.observed_s:
            return None, None, None
        delay_s = self.late_s / self.updates if self.updates else None
        return self.fresh_s / self.observed_s, self.age_s2 / self.observed_s, delay_s


class PrefetchMetrics:
    """The metrics of prefetching, in a given registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(f"bestbefore_prefetch_{name}", documentation, labels, registry=registry)

        def gauge(name: str, documentation: str) -> Gauge:
            return Gauge(f"bestbefore_prefetch_{name}", documentation, registry=registry)

        self._budget = gauge("budget_per_day", "Fetches that the budget allows a day; 0: nothing is prefetched.")
        self._objects = gauge("objects", "Objects in the schedule of this proxy.")
        self._shards = gauge("shards", "Shards, of 256 for all proxies on the store, that this proxy holds.")
        self._price = gauge("price", "The index at which an object is due.")
        self._contacts = gauge("expected_contacts_per_day", "Contacts a day that the schedule expects.")
        self.target_per_day = gauge("target_per_day", "Fetches a day that the target takes; 0: there is no target.")
        self._expected_freshness = gauge("expected_freshness", "Share of time in which copies are expected current.")
        self._expected_age = gauge("expected_age_seconds", "For how long copies are expected to be outdated.")
        self._expected_delay = gauge("expected_delay_seconds", "Time from an update to its fetch that is expected.")
        self._measured_freshness = gauge("measured_freshness", "Share of time in which copies were current.")
        self._measured_age = gauge("measured_age_seconds", "For how long copies had been outdated, averaged over time.")
        self._measured_delay = gauge("measured_delay_seconds", "Time from an update to the contact that found it.")
        self.due = gauge("due_fetches", "Fetches that are due and wait for their turn.")
        self.fetches = counter("fetches", "Fetches that were done, by outcome.", "outcome")
        self.duplicates = counter("duplicates", "Fetches left out, since another proxy on the store made them.")
        self.budget_exhausted = counter("budget_exhausted", "Times that a fetch was due and the budget spent.")
        self.pauses = counter("pauses", "Pauses of a domain: after a 429, a 503 or no response.")
        self.wait_s = counter("wait_seconds", "Policy time from when fetches were due until they began.")
        self._delay = Histogram(
            "bestbefore_prefetch_delay_seconds",
            "Policy time from an update to the prefetch that found it, where the time of the update is known.",
            buckets=DELAY_BUCKETS_S,
            registry=registry,
        )
        self._measured = _Measured()

    def enabled(self, budget_per_day: float) -> None:
        """Record the budget; 0: prefetching is disabled."""
        self._budget.set(budget_per_day)
        if not budget_per_day:
            for gone in (self._objects, self._shards, self.due):
                gone.set(0)

    def scheduled(self, objects: int, shards: int, price: float, expected: Expectation) -> None:
        """Record the state of the schedule."""
        self._objects.set(objects)
        self._shards.set(shards)
        self._price.set(price)
        self._contacts.set(24.0 * expected.cost_per_hour)
        self._expected_freshness.set(expected.freshness)
        self._expected_age.set(expected.age_s)
        self._expected_delay.set(expected.delay_s)

    def observed(self, weight: float, since_s: float, until_s: float, updates_s: Sequence[float]) -> None:
        """Record the time between two contacts with an object, and the updates in it, weighted."""
        self._measured.add(weight, since_s, until_s, updates_s)
        freshness, age_s, delay_s = self._measured.means
        self._measured_freshness.set(math.nan if freshness is None else freshness)
        self._measured_age.set(math.nan if age_s is None else age_s)
        self._measured_delay.set(math.nan if delay_s is None else delay_s)

    @property
    def measured(self) -> tuple[float | None, float | None, float | None]:
        """Return freshness, age and delay as measured since the start; None where nothing was."""
        return self._measured.means

    def found(self, delays_s: Iterable[float]) -> None:
        """Record the delays of updates that a fetch detected."""
        for delay_s in delays_s:
            self._delay.observe(max(delay_s, 0.0))
