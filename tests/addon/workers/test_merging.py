"""Metrics and health of several workers become those of one proxy."""

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.core import Metric

from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.workers.merging import AVERAGED, LARGEST, WEIGHT, lasting, merged, merged_health


def status(**values: Any) -> Any:
    words = ("down", "pending_observations", "pending_copies", "pending_copies_bytes", "memory_cache_bytes")
    counts = ("dropped_observations", "dropped_copies", "store_bytes", "write_lag_s")
    found = dict.fromkeys((*words, *counts), 0) | {"write_errors": {}, "corrupt_entries": {}, "conditions": frozenset()}
    return SimpleNamespace(**found | values)


def values(families: list[Metric]) -> Mapping[str, float]:
    return {
        "".join((sample.name, *(f" {value}" for value in sample.labels.values()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_each_kind_is_merged_by_its_meaning() -> None:
    workers = [Metrics(lambda: status(store_bytes=500, memory_cache_bytes=10)) for _ in range(2)]
    for n, one in enumerate(workers, 1):
        one.signalled("sitemap", "right")
        one.refused(f"kind-{n}")
        one.prefetch._objects.set(n)
        one.prefetch._expected_freshness.set(0.3 * n)
        one.prefetch._delay.observe(20.0)
    found = values(merged([one.families() for one in workers]))
    assert found["bestbefore_signals_total sitemap right"] == 2
    assert (found["bestbefore_refused_total kind-1"], found["bestbefore_refused_total kind-2"]) == (1, 1)
    assert (found["bestbefore_store_bytes"], found["bestbefore_memory_cache_bytes"]) == (500, 20)
    assert found["bestbefore_prefetch_expected_freshness"] == pytest.approx((0.3 + 2 * 0.6) / 3)
    assert found["bestbefore_prefetch_delay_seconds_bucket 60.0"] == 2
    assert found["bestbefore_prefetch_delay_seconds_count"] == 2
    assert found["bestbefore_workers"] == 2
    assert found["bestbefore_signals_created sitemap right"] < 4e9, "the moment of the first, not a sum"


def test_what_nothing_is_known_of_counts_for_nothing() -> None:
    workers = [Metrics(status) for _ in range(3)]
    for one, value in zip(workers, (math.nan, 0.5, 0.7), strict=True):
        one.prefetch._measured_freshness.set(value)
    assert values(merged([one.families() for one in workers]))["bestbefore_prefetch_measured_freshness"] == 0.6
    assert math.isnan(values(merged([workers[0].families()]))["bestbefore_prefetch_measured_freshness"])


def test_the_gauges_that_are_not_added_exist() -> None:
    gauges = {family.name for family in Metrics(status).families() if family.type == "gauge"}
    assert {*LARGEST, *AVERAGED, WEIGHT} <= gauges


def test_counters_outlast_their_worker() -> None:
    ended, running = Metrics(status), Metrics(status)
    ended.refused("requests")
    found = values(merged([lasting(ended.families()), running.families()]))
    assert found["bestbefore_refused_total requests"] == 1
    assert found["bestbefore_workers"] == 1


def test_the_health_is_the_worst_word_the_sum_and_the_longest_time() -> None:
    one = {"status": "ok", "store": "ok", "pending": 2, "write_lag_s": 1.5}
    other = {"status": "degraded", "store": "failing", "pending": 3, "write_lag_s": 0.5}
    assert merged_health([one, other, one]) == {
        "status": "degraded", "store": "failing", "pending": 7, "write_lag_s": 1.5,
    }  # fmt: skip
    assert merged_health([]) == {}
