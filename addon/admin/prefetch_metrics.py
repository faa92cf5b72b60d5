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
        self._waiting = gauge("due_fetches", "Fetches that are due and wait for their turn.")
        self._fetches = counter("fetches", "Fetches that were done, by outcome.", "outcome")
        self._dropped = counter("dropped", "Fetches given up, since the next one of their object was due.")
        self._broke = counter("budget_exhausted", "Times that a fetch was due and the budget spent.")
        self._paused = counter("pauses", "Fetches after which a site was left alone, as it asked or since it failed.")
        self._waits = counter("wait_seconds", "Policy time from when fetches were due until they began.")
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
            for gone in (self._objects, self._jobs, self._waiting):
                gone.set(0)

    def planned(self, made_s: float, objects: int, jobs: int) -> None:
        """Record the current plan."""
        self._planned_s.set(made_s)
        self._objects.set(objects)
        self._jobs.set(jobs)

    def waiting(self, jobs: int) -> None:
        """Record how many jobs are due."""
        self._waiting.set(jobs)

    def started(self, late_s: float) -> None:
        """Count the start of a fetch, `late_s` after it was due."""
        self._waits.inc(max(late_s, 0.0))

    def ended(self, outcome: str) -> None:
        """Count the end of a fetch. `outcome` is one of a closed set."""
        self._fetches.labels(outcome).inc()

    def found(self, delays_s: Iterable[float]) -> None:
        """Record the delays of updates that a fetch detected."""
        for delay_s in delays_s:
            self._delay.observe(max(delay_s, 0.0))

    def dropped(self, jobs: int) -> None:
        """Count jobs that were dropped."""
        self._dropped.inc(jobs)

    def broke(self) -> None:
        """Count that the budget is spent."""
        self._broke.inc()

    def paused(self) -> None:
        """Count a pause of a domain."""
        self._paused.inc()
