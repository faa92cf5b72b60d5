"""The figures are those of the metrics."""

import doctest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.reports import figures
from bestbefore.addon.store_status import StoreStatus

STATUS = StoreStatus(
    down=False, last_error="", conditions=frozenset({"full"}), pending_observations=0, pending_copies=0,
    pending_copies_bytes=0, dropped_observations=0, write_lag_s=0.0, write_errors={"copy": 2}, corrupt_entries={},
    dropped_copies=3, memory_cache_bytes=0.0, store_bytes=17,
)  # fmt: skip


def answered(outcome: Outcome, duration_s: float, **others: object) -> Answered:
    return Answered(0.0, "127.0.0.1", "GET", "http://a.example/", duration_s, 200, outcome, "ttl", **others)  # type: ignore[arg-type]


def test_the_examples_hold() -> None:
    assert doctest.testmod(figures).failed == 0


def test_requests_are_counted_once_and_of_nothing_there_is_no_latency() -> None:
    metrics = Metrics(lambda: STATUS)
    assert figures.figures(metrics.families()).latencies == ()
    for _ in range(3):
        metrics.add(answered(Outcome.HIT, 0.002, sent_bytes=10))
    metrics.add(answered(Outcome.STALE, 0.2, sent_bytes=10, contact=True))
    metrics.add(answered(Outcome.MISS, 0.2, sent_bytes=10, received_bytes=10, contact=True, background=True))
    found = figures.figures(metrics.families())
    assert (found.requests, found.hits, found.contacts, found.stale) == (4, 3, 2, 1)
    assert (found.sent_bytes, found.received_bytes) == (50, 10)
    assert found.by_reason == (("hit", "ttl", 3), ("stale", "ttl", 1))
    kinds = [(kind, number) for kind, number, _, _ in found.latencies]
    assert kinds == [("without contact", 3), ("with contact", 1)]
    median_s = found.latencies[0][2]
    assert median_s is not None
    assert 0.001 < median_s < 0.0025
    assert (found.conditions, found.values["store_bytes"], found.values["store_write_errors"]) == (("full",), 17, 2)
