"""What is counted of prefetching."""

from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics


def test_the_gauges_show_the_plan_and_what_is_due_until_prefetching_is_switched_off() -> None:
    registry = CollectorRegistry()
    metrics = PrefetchMetrics(registry)

    def shown() -> list[float | None]:
        names = ("budget_per_day", "objects", "planned_fetches", "due_fetches", "plan_time_seconds")
        return [registry.get_sample_value(f"bestbefore_prefetch_{name}") for name in names]

    metrics.enabled(100.0)
    metrics.planned(1e9, 7, 90)
    metrics.due.set(3)
    assert shown() == [100.0, 7.0, 90.0, 3.0, 1e9]
    metrics.enabled(0.0)
    assert shown() == [0.0, 0.0, 0.0, 0.0, 1e9]


def test_fetches_are_counted_with_their_waits_delays_and_outcomes() -> None:
    registry = CollectorRegistry()
    metrics = PrefetchMetrics(registry)

    def total(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"bestbefore_prefetch_{name}", labels)

    metrics.wait_s.inc(7.0)
    for outcome in ("updated", "unchanged", "updated"):
        metrics.fetches.labels(outcome).inc()
    metrics.found([30.0, 700.0, -2.0])
    metrics.dropped.inc(4)
    metrics.budget_exhausted.inc()
    metrics.pauses.inc()
    assert total("wait_seconds_total") == 7.0
    assert (total("fetches_total", outcome="updated"), total("fetches_total", outcome="unchanged")) == (2.0, 1.0)
    assert (total("delay_seconds_count"), total("delay_seconds_sum")) == (3.0, 730.0)
    assert (total("dropped_total"), total("budget_exhausted_total"), total("pauses_total")) == (4.0, 1.0, 1.0)


def test_the_bounds_of_the_delays_are_those_that_recorded_queries_name() -> None:
    registry = CollectorRegistry()
    PrefetchMetrics(registry)
    samples = [sample for family in registry.collect() for sample in family.samples if sample.name.endswith("_bucket")]
    minutes = [float(sample.labels["le"]) / 60 for sample in samples[1:-1]]
    assert minutes == [1, 5, 15, 30, 60, 120, 240, 480, 1440, 7 * 1440]
    assert (samples[0].labels["le"], samples[-1].labels["le"]) == ("10.0", "+Inf")
