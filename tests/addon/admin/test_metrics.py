import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.metrics import REASONS_LIMIT, Metrics
from bestbefore.addon.engine.outcome import Outcome

HIT = Answered(
    time_s=1706227238.5, duration_s=0.0004, client="192.0.2.7", method="GET", url="http://www.example.org/secret",
    status=200, outcome=Outcome.HIT, reason="indttl", ttl_s=60.0, sent_bytes=2000, encoding="gzip",
)
MISS = replace(HIT, outcome=Outcome.MISS, reason="uri-miss", received_bytes=2000, contact=True, duration_s=0.3)
CURRENT = replace(
    HIT, outcome=Outcome.VALIDATED, contact=True, validation=True, unnecessary=True, duration_s=0.2, sent_bytes=0
)
UPDATED = replace(CURRENT, outcome=Outcome.UPDATED, received_bytes=100, encoding="", unnecessary=False, update=True)


@dataclass(frozen=True)
class Status:
    """Of a store that is down and full."""

    down: bool = True
    conditions: frozenset[str] = frozenset({"down", "full"})
    pending_observations: int = 3
    pending_copies: int = 4
    pending_copies_bytes: int = 4000
    dropped_observations: int = 5
    dropped_copies: int = 6
    write_lag_s: float = 12.5
    write_errors: Mapping[str, int] = field(default_factory=lambda: {"copy": 2})
    corrupt_entries: Mapping[str, int] = field(default_factory=lambda: {"key": 3})
    memory_cache_bytes: int = 500
    store_bytes: int | None = 7000


Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(metrics: Metrics) -> Samples:
    """All samples as Prometheus reads them, by name and labels."""
    text = metrics.exposition("")[0].decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"bestbefore_{name}", frozenset(labels.items())]


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(Status)


def test_each_request_is_counted_by_outcome_and_reason(metrics: Metrics) -> None:
    for answered in (MISS, HIT, HIT, CURRENT, UPDATED):
        metrics.add(answered)
    samples = scraped(metrics)
    assert value(samples, "requests_total", outcome="hit", reason="indttl") == 2
    assert value(samples, "requests_total", outcome="miss", reason="uri-miss") == 1
    assert value(samples, "contacts_total") == 3
    assert value(samples, "validations_total") == 2
    assert value(samples, "unnecessary_validations_total") == 1
    assert value(samples, "updates_total") == 1


def test_bytes_are_counted_by_content_coding(metrics: Metrics) -> None:
    for answered in (MISS, HIT, UPDATED, replace(MISS, encoding=" X-GZIP "), replace(MISS, encoding="my-own, br")):
        metrics.add(answered)
    samples = scraped(metrics)
    assert value(samples, "sent_bytes_total", encoding="gzip") == 6000
    assert value(samples, "received_bytes_total", encoding="gzip") == 4000
    assert value(samples, "received_bytes_total", encoding="identity") == 100
    assert value(samples, "received_bytes_total", encoding="other") == 2000


def test_durations_of_hits_and_contacts_are_apart(metrics: Metrics) -> None:
    for answered in (HIT, HIT, MISS):
        metrics.add(answered)
    samples = scraped(metrics)
    assert value(samples, "request_duration_seconds_count", contact="no") == 2
    assert value(samples, "request_duration_seconds_bucket", contact="no", le="0.0005") == 2
    assert value(samples, "request_duration_seconds_bucket", contact="yes", le="0.25") == 0
    assert value(samples, "request_duration_seconds_bucket", contact="yes", le="0.5") == 1
    assert value(samples, "request_duration_seconds_sum", contact="yes") == pytest.approx(0.3)


def test_the_store_is_asked_when_metrics_are_read(metrics: Metrics) -> None:
    samples = scraped(metrics)
    assert value(samples, "store_down") == 1
    assert value(samples, "store_bytes") == 7000
    assert value(samples, "memory_cache_bytes") == 500
    assert value(samples, "pending_observations") == 3
    assert value(samples, "pending_copies") == 4
    assert value(samples, "pending_copies_bytes") == 4000
    assert value(samples, "dropped_observations_total") == 5
    assert value(samples, "dropped_copies_total") == 6
    assert value(samples, "store_write_lag_seconds") == 12.5
    assert value(samples, "store_write_errors_total", kind="copy") == 2
    assert value(samples, "store_corrupt_entries_total", kind="key") == 3
    assert value(samples, "store_condition", condition="full") == 1


def test_corrupt_entries_are_counted_from_0_so_that_an_alert_sees_the_first() -> None:
    samples = scraped(Metrics(lambda: Status(corrupt_entries={"value": 1})))
    found = [value(samples, "store_corrupt_entries_total", kind=kind) for kind in ("key", "value", "body")]
    assert found == [0, 1, 0]


def test_the_bytes_of_a_store_are_left_out_before_they_are_measured() -> None:
    assert ("bestbefore_store_bytes", frozenset()) not in scraped(Metrics(lambda: Status(store_bytes=None)))


def test_tunnels_refused_reloads_and_broken_answers_are_counted(metrics: Metrics) -> None:
    metrics.tunnelled_hosts.inc()
    metrics.reload_failures.inc()
    metrics.reload_failures.inc()
    metrics.add(replace(HIT, complete=False))
    samples = scraped(metrics)
    assert value(samples, "tunnelled_hosts_total") == 1
    assert value(samples, "config_reload_failures_total") == 2
    assert value(samples, "truncated_responses_total") == 1


def test_what_readers_of_feeds_got_and_were_spared_is_counted(metrics: Metrics) -> None:
    for got, spared in (("full", 0), ("not-modified", 900), ("delta", 800), ("delta", 700), ("", 0)):
        metrics.add(replace(HIT, feed=got, spared_bytes=spared))
    samples = scraped(metrics)
    for got, answers, spared in (("full", 1, 0), ("not-modified", 1, 900), ("delta", 2, 1500)):
        assert value(samples, "feed_responses_total", sent=got) == answers
        assert value(samples, "feed_saved_bytes_total", sent=got) == spared


def test_neither_reasons_nor_codings_can_grow_without_bound(metrics: Metrics) -> None:
    for i in range(2 * REASONS_LIMIT):
        metrics.add(replace(HIT, reason=f"invented-{i}", encoding=f"invented-{i}"))
    samples = scraped(metrics)
    assert sum(name == "bestbefore_requests_total" for name, _ in samples) == REASONS_LIMIT + 1
    assert value(samples, "requests_total", outcome="hit", reason="other") == REASONS_LIMIT
    assert value(samples, "sent_bytes_total", encoding="other") == 2 * REASONS_LIMIT * 2000
    assert len(metrics._bytes_by) == 0


def test_metrics_name_no_url_host_or_client(metrics: Metrics) -> None:
    for answered in (HIT, MISS, replace(HIT, outcome=Outcome.REFUSED)):
        metrics.add(answered)
    text = metrics.exposition("")[0].decode()
    assert not any(word in text for word in ("example", "secret", "192.0.2.7"))


def test_two_proxies_in_one_process_count_apart(metrics: Metrics) -> None:
    other = Metrics(Status)
    other.add(MISS)
    assert value(scraped(metrics), "contacts_total") == 0


def test_openmetrics_is_spoken_where_it_is_asked_for(metrics: Metrics) -> None:
    metrics.add(HIT)
    body, content_type = metrics.exposition("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert "bestbefore_requests" in {family.name for family in openmetrics_families(body.decode())}


def test_the_documentation_lists_exactly_these_metrics(metrics: Metrics) -> None:
    documented = (Path(__file__).parents[3] / "docs" / "observing.md").read_text("utf-8")
    listed = re.findall(r"^\| `(?:bestbefore_)?(\w+)` \| (counter|gauge|histogram) \|", documented, re.MULTILINE)
    families = text_string_to_metric_families(metrics.exposition("")[0].decode())
    told = [
        (family.name.removeprefix("bestbefore_") + ("_total" if family.type == "counter" else ""), family.type)
        for family in families
        if not family.name.endswith("_created")
    ]
    assert sorted(listed) == sorted(told)


def test_the_bounds_of_the_durations_are_those_that_recorded_queries_name() -> None:
    name = "bestbefore_request_duration_seconds_bucket"
    labels = [dict(labels) for family, labels in scraped(Metrics(Status)) if family == name]
    assert sorted({float(one["le"]) * 1000 for one in labels}) == [
        0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, float("inf"),
    ]
