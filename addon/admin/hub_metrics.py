"""The metrics of a hub's channel, of the hub and of an edge."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge


class HubMetrics:
    """The metrics of the channel, in a given registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(f"bestbefore_{name}", documentation, labels, registry=registry)

        def gauge(name: str, documentation: str) -> Gauge:
            return Gauge(f"bestbefore_{name}", documentation, registry=registry)

        self.sent_bytes = counter("hub_sent_bytes", "Bytes sent on the channel, of all sites together.")
        self.sent = counter("hub_sent", "What was sent on the channel: all, head, notice, heartbeat, complete.", "kind")
        self.subscribers = gauge("hub_subscribers", "Subscriptions whose leases last.")
        self.objects = gauge("hub_objects", "Variants of objects with subscribers.")
        self.waiting = gauge("hub_waiting_objects", "Of these, those with waiting subscribers.")
        self.waiting_bytes = gauge("hub_waiting_bytes", "Content of these, bytes.")
        self.client_freshness = gauge("hub_client_freshness", "The mean share of a subscriber's objects that it has.")
        self.data_freshness = gauge("hub_data_freshness", "The share of all objects of subscribers that they have.")
        self.received = counter("edge_received", "What was received from the channel and used, by kind.", "kind")
        self.refused = counter("edge_refused", "Messages of the channel that were not used, by reason.", "reason")
        self.gaps = counter("edge_gaps", "Times that messages were lost before they were read.")
        self.behind_s = gauge("edge_behind_seconds", "How old the hub's knowledge was at the last heartbeat read.")
        self._reports: dict[str, Mapping[str, Any]] = {}

    def report(self, site: str, status: Mapping[str, Any]) -> None:
        """Record the state of a site's queue; counts are summed over the sites, shares averaged."""
        self._reports[site] = status
        reports = list(self._reports.values())
        self.subscribers.set(sum(len(one["subscribers"]) for one in reports))
        self.objects.set(sum(one["objects"] for one in reports))
        self.waiting.set(sum(one["waiting"] for one in reports))
        self.waiting_bytes.set(sum(one["waiting_bytes"] for one in reports))
        self.client_freshness.set(sum(one["client_freshness"] for one in reports) / len(reports))
        self.data_freshness.set(sum(one["data_freshness"] for one in reports) / len(reports))
