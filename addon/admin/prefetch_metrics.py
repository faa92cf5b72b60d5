"""The metrics of prefetching."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

DELAY_BUCKETS_S = (10.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 86_400.0, 604_800.0)


class PrefetchMetrics:
    """The metrics of prefetching, in a given registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(f"bestbefore_prefetch_{name}", documentation, labels, registry=registry)

        def gauge(name: str, documentation: str) -> Gauge:
            return Gauge(f"bestbefore_prefetch_{name}", documentation, registry=registry)

        self._budget = gauge("budget_per_day", "Fetches that the budget allows a day; 0: nothing is prefetched.")
        self._objects = gauge("objects", "Objects that the plan was made for.")
        self._jobs = gauge("planned_fetches", "Fetches in the plan.")
        self._planned_s = gauge("plan_time_seconds", "When the plan was made, Unix time.")
        self.due = gauge("due_fetches", "Fetches that are due and wait for their turn.")
        self.fetches = counter("fetches", "Fetches that were done, by outcome.", "outcome")
        self.dropped = counter("dropped", "Fetches given up, since the next one of their object was due.")
        self.budget_exhausted = counter("budget_exhausted", "Times that a fetch was due and the budget spent.")
        self.pauses = counter("pauses", "Pauses of a domain: after a 429, a 503 or no response.")
        self.wait_s = counter("wait_seconds", "Policy time from when fetches were due until they began.")
        self._delay = Histogram(
            "bestbefore_prefetch_delay_seconds",
            "Policy time from an update to the prefetch that found it, where the time of the update is known.",
            buckets=DELAY_BUCKETS_S,
            registry=registry,
        )

    def enabled(self, budget_per_day: float) -> None:
        """Record the budget; 0: prefetching is disabled."""
        self._budget.set(budget_per_day)
        if not budget_per_day:
            for gone in (self._objects, self._jobs, self.due):
                gone.set(0)

    def planned(self, made_s: float, objects: int, jobs: int) -> None:
        """Record the current plan."""
        self._planned_s.set(made_s)
        self._objects.set(objects)
        self._jobs.set(jobs)

    def found(self, delays_s: Iterable[float]) -> None:
        """Record the delays of updates that a fetch detected."""
        for delay_s in delays_s:
            self._delay.observe(max(delay_s, 0.0))
