"""The metrics of a hub's channel."""

from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.hub_metrics import HubMetrics


def test_the_queues_of_sites_are_added_and_their_shares_averaged() -> None:
    registry = CollectorRegistry()
    metrics = HubMetrics(registry)
    one = {"objects": 4, "waiting": 1, "waiting_bytes": 10, "client_freshness": 0.5, "data_freshness": 0.75}
    metrics.report("a", {**one, "subscribers": [{}]})
    metrics.report("b", {**one, "client_freshness": 1.0, "subscribers": [{}, {}]})
    metrics.report("b", {**one, "client_freshness": 0.7, "subscribers": [{}, {}]})
    assert registry.get_sample_value("bestbefore_hub_objects") == 8
    assert registry.get_sample_value("bestbefore_hub_subscribers") == 3
    assert registry.get_sample_value("bestbefore_hub_client_freshness") == 0.6
