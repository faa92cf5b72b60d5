"""What is counted for Prometheus. Neither URLs nor host names occur in it: whoever reads metrics need not know them.

Every label has few values: outcomes, reasons and content codings are closed sets, and a guard keeps them so.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from bestbefore.addon.admin.event import Answered, Outcome
from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.admin.status import StoreStatus

DURATION_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REASONS_LIMIT = 200
"""Pairs of outcome and reason that are counted apart. There are far fewer; beyond it the reason is `other`."""

_CODINGS = {"": "identity", "x-gzip": "gzip", "x-compress": "compress"} | {
    name: name for name in ("identity", "gzip", "compress", "deflate", "br", "zstd")
}


class Metrics:
    """The counters of one proxy, in a registry of their own."""

    def __init__(self, store_status: Callable[[], StoreStatus]) -> None:
        """`store_status` is asked once for each scrape."""
        self._registry = registry = CollectorRegistry()

        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(f"bestbefore_{name}", documentation, labels, registry=registry)

        self._requests = counter("requests", "Requests answered, by how and why.", "outcome", "reason")
        self._contacts = counter("contacts", "Requests for which an origin was asked.")
        self._validations = counter("validations", "Contacts that asked whether a stored copy is still current.")
        self._unnecessary = counter("unnecessary_validations", "Validations that found the object unchanged.")
        self._updates = counter("updates", "Contacts that showed an update of the object.")
        self._cut_short = counter("cut_short_responses", "Responses of which the client did not get all.")
        self._sent = counter("sent_bytes", "Content sent to clients, by Content-Encoding.", "encoding")
        self._received = counter("received_bytes", "Content received from origins, by Content-Encoding.", "encoding")
        feeds = counter("feed_answers", "Answers that were feeds, by what the client got.", "got")
        spared = counter("feed_spared_bytes", "Content of feeds not sent: the client had it.", "got")
        self._feeds = {got: (feeds.labels(got), spared.labels(got)) for got in ("full", "delta", "not-modified")}
        self._tunnelled_hosts = counter(
            "tunnelled_hosts", "Hosts tunnelled for an hour for a client that refuses our certificate."
        )
        self._surplus = counter(
            "origin_surplus", "Connections to origins closed because more came than was asked for."
        )
        self._in_flight = [
            Gauge(f"bestbefore_{name}", documentation, registry=registry)
            for name, documentation in (
                ("in_flight_bytes", "Content on its way that is held in memory."),
                ("in_flight_file_bytes", "Content on its way that is in files."),
                ("requests_under_way", "Requests not answered, or whose answer is not sent, but hits from memory."),
            )
        ]
        self._refused = counter("refused", "What was refused because there was too much of it.", "what")
        self._reload_failures = counter("config_reload_failures", "Changed configuration files that were refused.")
        durations = Histogram(
            "bestbefore_request_duration_seconds",
            "Real time from the request to the end of the response, by whether an origin was asked.",
            ["contact"],
            buckets=DURATION_BUCKETS_S,
            registry=registry,
        )
        self.prefetch = PrefetchMetrics(registry)
        registry.register(_StoreCollector(store_status))
        # `labels` takes longer than all else that a hit costs here, so what it returns is kept.
        self._durations = {asked: durations.labels("yes" if asked else "no") for asked in (False, True)}
        self._requests_by: dict[tuple[Outcome, str], Counter] = {}
        self._bytes_by: dict[str, tuple[Counter, Counter]] = {}

    def add(self, answered: Answered) -> None:
        """Count one request."""
        if not answered.background:
            key = (answered.outcome, answered.reason)
            (self._requests_by.get(key) or self._requests_child(*key)).inc()
            self._durations[answered.contact].observe(answered.duration_s)
        if answered.sent_bytes or answered.received_bytes:
            encoding = answered.encoding
            sent, received = self._bytes_by.get(encoding) or self._bytes_children(encoding)
            sent.inc(answered.sent_bytes)
            if answered.received_bytes:
                received.inc(answered.received_bytes)
        if answered.contact:
            self._add_contact(answered)
        if answered.feed:
            answers, spared = self._feeds[answered.feed]
            answers.inc()
            spared.inc(answered.spared_bytes)
        if not answered.complete:
            self._cut_short.inc()

    def tunnelled(self) -> None:
        """Count a host that is tunnelled because a client refuses our certificate."""
        self._tunnelled_hosts.inc()

    def surplus(self) -> None:
        """Count a connection to an origin on which something came that belongs to no request."""
        self._surplus.inc()

    def refused(self, what: str) -> None:
        """Count what was refused because there was too much of it: connections of clients, requests."""
        self._refused.labels(what).inc()

    def reload_failed(self) -> None:
        """Count a changed configuration that was refused."""
        self._reload_failures.inc()

    def show_in_flight(
        self, bytes_: Callable[[], float], file_bytes: Callable[[], float], requests: Callable[[], float]
    ) -> None:
        """Show what these give at each scrape."""
        for gauge, value in zip(self._in_flight, (bytes_, file_bytes, requests), strict=True):
            gauge.set_function(value)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the format that an Accept field asks for, and its media type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _add_contact(self, answered: Answered) -> None:
        self._contacts.inc()
        if answered.validation:
            self._validations.inc()
        if answered.unnecessary:
            self._unnecessary.inc()
        if answered.update:
            self._updates.inc()

    def _requests_child(self, outcome: Outcome, reason: str) -> Counter:
        if len(self._requests_by) >= REASONS_LIMIT:
            return self._requests.labels(outcome, "other")
        child = self._requests_by[outcome, reason] = self._requests.labels(outcome, reason)
        return child

    def _bytes_children(self, encoding: str) -> tuple[Counter, Counter]:
        """Of what is sent and of what is received under this Content-Encoding, which may be any text."""
        label = _CODINGS.get(encoding.strip().lower(), "other")
        children = self._sent.labels(label), self._received.labels(label)
        if encoding in _CODINGS:
            self._bytes_by[encoding] = children
        return children


class _StoreCollector(Collector):
    """Asks the store for its state once for each scrape."""

    def __init__(self, status: Callable[[], StoreStatus]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield _gauge("store_away", "1 while the store does not answer, else 0.", status.away)
        if status.kept_bytes is not None:
            yield _gauge("store_bytes", "Bytes that the store keeps, as last measured.", status.kept_bytes)
        yield _gauge("hot_bytes", "Bytes of the copies held in the process.", status.hot_bytes)
        yield _gauge("waiting_observations", "Observations that wait to be written.", status.waiting_observations)
        yield _gauge("waiting_copies", "Copies that wait to be written.", status.waiting_copies)
        yield _gauge("waiting_copies_bytes", "Bytes of the copies that wait to be written.", status.waiting_bytes)
        yield _counter("lost_observations", "Not kept: too many waited.", status.lost_observations)
        yield _counter("refused_copies", "Not kept: the store was full, or away for too long.", status.refused_copies)
        yield _gauge("store_unwritten_seconds", "For how long nothing that waits could be written.", status.late_s)
        yield _counter_by("set_aside", "What could not be written for itself.", "kind", status.set_aside)
        yield _counter_by("store_damaged", "What was found damaged in the store.", "kind", status.damaged)
        conditions = GaugeMetricFamily("bestbefore_store_condition", "1 for what holds now.", labels=["condition"])
        for condition in sorted(status.conditions):
            conditions.add_metric([condition], 1)
        yield conditions


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"bestbefore_{name}", documentation, value=value)


def _counter(name: str, documentation: str, value: float) -> Metric:
    return CounterMetricFamily(f"bestbefore_{name}", documentation, value=value)


def _counter_by(name: str, documentation: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"bestbefore_{name}", documentation, labels=[label])
    for value, n in sorted(values.items()):
        family.add_metric([value], n)
    return family
