"""What is counted of prefetching."""

from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.policies.prefetch.online.expectation import Expectation


def test_the_gauges_show_the_schedule_until_prefetching_is_switched_off() -> None:
    registry = CollectorRegistry()
    metrics = PrefetchMetrics(registry)

    def shown(*names: str) -> list[float | None]:
        return [registry.get_sample_value(f"bestbefore_prefetch_{name}") for name in names]

    state = ("budget_per_day", "objects", "shards", "due_fetches")
    metrics.enabled(100.0)
    metrics.scheduled(7, 128, 0.25, Expectation(2.0, 0.75, 60.0, 90.0))
    metrics.due.set(3)
    assert shown(*state) == [100.0, 7.0, 128.0, 3.0]
    assert shown("price", "expected_contacts_per_day") == [0.25, 48.0]
    assert shown("expected_freshness", "expected_age_seconds", "expected_delay_seconds") == [0.75, 60.0, 90.0]
    metrics.enabled(0.0)
    assert shown(*state) == [0.0, 0.0, 0.0, 0.0]


def test_means_are_measured_over_the_time_between_contacts_by_weight() -> None:
    registry = CollectorRegistry()
    metrics = PrefetchMetrics(registry)
    assert metrics.measured == (None, None, None)
    metrics.observed(1.0, 0.0, 100.0, [])
    assert metrics.measured == (1.0, 0.0, None)
    metrics.observed(3.0, 0.0, 100.0, [20.0, 60.0])
    assert metrics.measured == (0.4, 24.0, 60.0)
    assert registry.get_sample_value("bestbefore_prefetch_measured_freshness") == 0.4
    assert registry.get_sample_value("bestbefore_prefetch_measured_age_seconds") == 24.0
    assert registry.get_sample_value("bestbefore_prefetch_measured_delay_seconds") == 60.0


def test_fetches_are_counted_with_their_waits_delays_and_outcomes() -> None:
    registry = CollectorRegistry()
    metrics = PrefetchMetrics(registry)

    def total(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"bestbefore_prefetch_{name}", labels)

    metrics.wait_s.inc(7.0)
    for outcome in ("updated", "unchanged", "updated"):
        metrics.fetches.labels(outcome).inc()
    metrics.found([30.0, 700.0, -2.0])
    metrics.duplicates.inc(4)
    metrics.budget_exhausted.inc()
    metrics.pauses.inc()
    assert total("wait_seconds_total") == 7.0
    assert (total("fetches_total", outcome="updated"), total("fetches_total", outcome="unchanged")) == (2.0, 1.0)
    assert (total("delay_seconds_count"), total("delay_seconds_sum")) == (3.0, 730.0)
    assert (total("duplicates_total"), total("budget_exhausted_total"), total("pauses_total")) == (4.0, 1.0, 1.0)


def test_the_bounds_of_the_delays_are_those_that_recorded_queries_name() -> None:
    registry = CollectorRegistry()
    PrefetchMetrics(registry)
    samples = [sample for family in registry.collect() for sample in family.samples if sample.name.endswith("_bucket")]
    minutes = [float(sample.labels["le"]) / 60 for sample in samples[1:-1]]
    assert minutes == [1, 5, 15, 30, 60, 120, 240, 480, 1440, 7 * 1440]
    assert (samples[0].labels["le"], samples[-1].labels["le"]) == ("10.0", "+Inf")
