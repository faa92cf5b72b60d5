"""The state of a site's queue, for `bestbefore show --hub`, edges and metrics. Pure."""

from collections.abc import Mapping
from typing import Any

from bestbefore.addon.hub.queue import Queue
from bestbefore.addon.hub.wire.subscription import SubscriberKind
from bestbefore.policies.dissemination.metrics import condition_at

LISTED = 1000
"""The most subscribers in a report."""


def status_of(queue: Queue, now_s: float, bandwidth: int) -> dict[str, Any]:
    """Return the report, which JSON can encode. `bandwidth`: bytes a second."""
    found = [queue.waiting(one, now_s) for one in queue.subscriptions[:LISTED]]
    waiting = queue.waiting_items(now_s)
    subscribers = [one for one in found if one.objects and one.subscription.kind is SubscriberKind.SUBSCRIBER]
    condition = condition_at(now_s, [(one.objects, one.stale_since_s) for one in subscribers])
    return {
        "time_s": now_s,
        "scheduler": queue.scheduler,
        "bandwidth": bandwidth,
        "announced_until_s": queue.catalogue.announced_until_s(now_s),
        "objects": len(queue.catalogue.items),
        "waiting": len(waiting),
        "waiting_bytes": sum(item.offer.size_bytes for item in waiting if item.offer is not None),
        "client_freshness": condition.freshness_over_clients,
        "data_freshness": condition.freshness_over_data,
        "client_age_s": condition.age_over_clients_s,
        "data_age_s": condition.age_over_data_s,
        "subscribers": [
            {
                "name": one.subscription.name,
                "kind": one.subscription.kind.value,
                "patterns": dict(zip(one.subscription.patterns, one.matches, strict=True)),
                "objects": one.objects,
                "waiting": one.waiting,
                "waiting_bytes": one.waiting_bytes,
            }
            for one in found
        ],
    }


def notices(status: Mapping[str, Any], name: str) -> list[str]:
    """Return what a subscriber should know of its patterns, in words: those that match nothing, or everything."""
    mine = next((one for one in status["subscribers"] if one["name"] == name), None)
    if mine is None:
        return []
    found = [f"the hub has no object that {pattern} matches" for pattern, n in mine["patterns"].items() if not n]
    everything = next((pattern for pattern in mine["patterns"] if pattern == "*"), None)
    if everything is not None:
        found.append(f"* matches everything that the hub may send: {mine['objects']} objects now")
    return found
