"""Metrics for Prometheus. They contain neither URLs nor host names, which are personal data.

Every label has few values: outcomes, reasons and content codings are closed sets, and a guard keeps them so.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.hub_metrics import HubMetrics
from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.admin.process.metrics import register_process
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.store_status import StoreStatus

DURATION_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REASONS_LIMIT = 200
"""The most pairs of outcome and reason that are counted; beyond it the reason is `other`. There are far fewer."""

COUNTED: Mapping[str, tuple[str, Callable[[Answered], float]]] = {
    "contacts": ("Requests for which an origin was contacted.", lambda one: one.contact),
    "validations": ("Contacts that validated a stored copy.", lambda one: one.validation),
    "unnecessary_validations": ("Validations that found the object unchanged.", lambda one: one.unnecessary),
    "sibling_validations": ("Validations of fresh copies because a sibling changed.", lambda one: bool(one.because)),
    "sibling_validations_changed": (
        "Validations because a sibling changed that found a change.",
        lambda one: bool(one.because) and one.outcome is Outcome.UPDATED,
    ),
    "updates": ("Contacts that showed an update of the object.", lambda one: one.update),
    "truncated_responses": ("Responses that the client did not receive completely.", lambda one: not one.complete),
}
"""Counters without labels by name: the documentation, and how much a request adds."""

_CODINGS = {"": "identity", "x-gzip": "gzip", "x-compress": "compress"} | {
    name: name for name in ("identity", "gzip", "compress", "deflate", "br", "zstd")
}


class Metrics:
    """The counters of one proxy, in a registry of their own."""

    def __init__(self, store_status: Callable[[], StoreStatus]) -> None:
        """`store_status` is called once for each scrape."""
        self._registry = registry = CollectorRegistry()

        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(f"bestbefore_{name}", documentation, labels, registry=registry)

        def gauge(name: str, documentation: str) -> Gauge:
            return Gauge(f"bestbefore_{name}", documentation, registry=registry)

        self._requests = counter("requests", "Requests answered, by how and why.", "outcome", "reason")
        self._counted = [(counter(name, documentation), added) for name, (documentation, added) in COUNTED.items()]
        self._sent = counter("sent_bytes", "Content sent to clients, by Content-Encoding.", "encoding")
        self._received = counter("received_bytes", "Content received from origins, by Content-Encoding.", "encoding")
        feeds = counter("feed_responses", "Answers that were feeds, by what was sent to the client.", "sent")
        spared = counter("feed_saved_bytes", "Content of feeds not sent: the client had it.", "sent")
        self._feeds = {sent: (feeds.labels(sent), spared.labels(sent)) for sent in ("full", "delta", "not-modified")}
        self._signals = counter("signals", "Signals of changes of objects, by what became of them.", "kind", "result")
        self.websub = counter("websub", "Exchanges with WebSub hubs, by what became of them.", "result")
        self.tunnelled_hosts = counter(
            "tunnelled_hosts", "Hosts tunnelled for an hour for a client that refuses our certificate."
        )
        self.tunnelled_pairs = gauge("tunnelled_pairs", "Clients and hosts tunnelled now for a refused certificate.")
        self.tunnels_lifted = counter("tunnels_lifted", "Tunnels for a refused certificate that were lifted.", "by")
        self.client_handshakes = counter("client_handshakes", "TLS connections of clients in tunnels.", "result")
        self.unexpected_data = counter(
            "origin_unexpected_data", "Connections to origins closed because of data that belongs to no request."
        )
        self.in_flight_bytes = gauge("in_flight_bytes", "Content in transit that is held in memory.")
        self.in_flight_file_bytes = gauge("in_flight_file_bytes", "Content in transit that is held in files.")
        self.requests_in_progress = gauge(
            "requests_in_progress", "Requests without a complete response; hits from memory not counted."
        )
        self._refused = counter("refused", "Connections and requests refused at a limit.", "kind")
        self.reload_failures = counter("config_reload_failures", "Changed configuration files that were refused.")
        gauge("workers", "Processes that serve the address.").set(1)
        self.worker_restarts = counter("worker_restarts", "Workers that ended and were started again.")
        self.prefetch = PrefetchMetrics(registry)
        self.hub = HubMetrics(registry)
        register_process(registry)
        registry.register(_StoreCollector(store_status))
        self._durations = {False: _Durations(), True: _Durations()}
        registry.register(_DurationCollector(self._durations))
        # `labels` is the slowest part of counting a hit, so its result is kept.
        self._requests_by: dict[tuple[Outcome, str], Counter] = {}
        self._bytes_by: dict[str, tuple[Counter, Counter]] = {}

    def add(self, *exchanges: Answered) -> None:
        """Count requests. Those that are counted together take less time."""
        requests: defaultdict[tuple[Outcome, str], int] = defaultdict(int)
        sent_bytes: defaultdict[str, int] = defaultdict(int)
        for answered in exchanges:
            if not answered.background:
                requests[answered.outcome, answered.reason] += 1
                self._durations[answered.contact].observe(answered.duration_s)
            sent_bytes[answered.encoding] += answered.sent_bytes
            if answered.received_bytes:
                self._bytes_counters(answered.encoding)[1].inc(answered.received_bytes)
            if answered.feed:
                answers, spared = self._feeds[answered.feed]
                answers.inc()
                spared.inc(answered.spared_bytes)
        for key, n in requests.items():
            self._requests_counter(*key).inc(n)
        for encoding, size in sent_bytes.items():
            if size:
                self._bytes_counters(encoding)[0].inc(size)
        for counter, added in self._counted:
            if amount := sum(map(added, exchanges)):
                counter.inc(amount)

    def signalled(self, kind: str, result: str) -> None:
        """Count what became of a signal."""
        self._signals.labels(kind, result).inc()

    def refused(self, kind: str) -> None:
        """Count a connection or request that was refused at a limit."""
        self._refused.labels(kind).inc()

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in the format that an Accept field asks for, and its media type."""
        return exposition_of(self._registry, accept)

    def families(self) -> list[Metric]:
        """Return all metrics, for a process that sums those of several."""
        return list(self._registry.collect())

    def _requests_counter(self, outcome: Outcome, reason: str) -> Counter:
        known = self._requests_by.get((outcome, reason))
        if known is not None:
            return known
        if len(self._requests_by) >= REASONS_LIMIT:
            return self._requests.labels(outcome, "other")
        child = self._requests_by[outcome, reason] = self._requests.labels(outcome, reason)
        return child

    def _bytes_counters(self, encoding: str) -> tuple[Counter, Counter]:
        """Return the counters of sent and of received bytes for this Content-Encoding, which may be any text."""
        known = self._bytes_by.get(encoding)
        if known is not None:
            return known
        label = _CODINGS.get(encoding.strip().lower(), "other")
        children = self._sent.labels(label), self._received.labels(label)
        if encoding in _CODINGS:
            self._bytes_by[encoding] = children
        return children


def exposition_of(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """Return the metrics of a registry in the format that an Accept field asks for, and its media type."""
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Durations:
    """A histogram of durations. prometheus_client's own takes ten times as long to add one."""

    def __init__(self) -> None:
        self._counts = [0] * (len(DURATION_BUCKETS_S) + 1)
        self._sum_s = 0.0

    def observe(self, duration_s: float) -> None:
        """Add a duration."""
        self._counts[bisect_left(DURATION_BUCKETS_S, duration_s)] += 1
        self._sum_s += duration_s

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str]) -> None:
        """Add the histogram to a family."""
        limits = (*map(floatToGoString, DURATION_BUCKETS_S), "+Inf")
        family.add_metric(labels, list(zip(limits, accumulate(self._counts), strict=True)), self._sum_s)


class _DurationCollector(Collector):
    """Collects the histograms of durations."""

    def __init__(self, by_contact: Mapping[bool, _Durations]) -> None:
        self._by_contact = by_contact

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "bestbefore_request_duration_seconds",
            "Real time from the request to the end of the response, by whether an origin was contacted.",
            labels=["contact"],
        )
        for contact, durations in self._by_contact.items():
            durations.add_to(family, ["yes" if contact else "no"])
        yield family


class _StoreCollector(Collector):
    """Collects the state of the store, once for each scrape."""

    def __init__(self, status: Callable[[], StoreStatus]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield _gauge("store_down", "1 while the store does not answer, 0 otherwise.", status.down)
        if status.store_bytes is not None:
            yield _gauge("store_bytes", "Bytes that the store keeps, as last measured.", status.store_bytes)
        yield _gauge("memory_cache_bytes", "Bytes of the copies held in the process.", status.memory_cache_bytes)
        yield _gauge("pending_observations", "Observations that wait to be written.", status.pending_observations)
        yield _gauge("pending_copies", "Copies that wait to be written.", status.pending_copies)
        yield _gauge("pending_copies_bytes", "Bytes of these copies.", status.pending_copies_bytes)
        yield _counter("dropped_observations", "Observations not kept: too many waited.", status.dropped_observations)
        yield _counter("dropped_copies", "Copies not kept: the store was full or down.", status.dropped_copies)
        yield _gauge("store_write_lag_seconds", "Time since anything could be written.", status.write_lag_s)
        yield _counter_by("store_write_errors", "Entries that cannot be written.", "kind", status.write_errors)
        # From 0 on: Prometheus sees no increase in a series that begins with its first event.
        corrupt = dict.fromkeys(("key", "value", "body"), 0) | dict(status.corrupt_entries)
        yield _counter_by("store_corrupt_entries", "Corrupt entries found.", "kind", corrupt)
        documentation = "1 for each condition that holds now."
        conditions = GaugeMetricFamily("bestbefore_store_condition", documentation, labels=["condition"])
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
