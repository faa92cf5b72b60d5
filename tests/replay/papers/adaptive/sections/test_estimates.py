import numpy as np
import pytest

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.replay.papers.adaptive.sections.estimates import (
    aggregate_rates_per_hour,
    errors,
    intervals,
    ttl_estimate,
)
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

HOUR = 3600.0
DAY = 86400.0


def test_ttl_expects_one_update_when_it_expires() -> None:
    # Modified at 0 and cached at 1000, it expires at 1050.
    assert ttl_estimate(0.0, 1000.0, 1050.0) == pytest.approx(1.0)
    assert ttl_estimate(0.0, 1000.0, 2100.0) == pytest.approx(2.0)
    assert ttl_estimate(1000.0, 1000.0, 2000.0) == 0.0


def test_the_rates_of_agghist_are_the_objects_share_of_its_groups() -> None:
    history = History.of([9.5 * HOUR], 0.0)
    group = Group.of_updates(np.array([9.5 * HOUR, 20.5 * HOUR]), [0.0, 0.0])
    rates = aggregate_rates_per_hour(history, group, 2 * DAY)
    # One of two updates; each hour was there twice.
    assert rates[9] == rates[20] == pytest.approx(0.25)
    assert sum(rates) == pytest.approx(0.5)
    assert sum(aggregate_rates_per_hour(History.of([], 0.0), group, 2 * DAY)) == 0.0
    assert sum(aggregate_rates_per_hour(history, group, 0.0)) == 0.0


def test_errors_are_those_between_two_requests_of_one_client() -> None:
    # An update at 10:30 each day. Client x asks at 10:00 and 11:00 of the sixth day, y once.
    updates = Updates.of(np.array([d * DAY + 10.5 * HOUR for d in range(8)]), np.zeros(8, np.int32), ("a",))
    asked = 5 * DAY + np.array([10 * HOUR, 10.2 * HOUR, 11 * HOUR])
    requests = Requests.of(asked, np.array([0, 1, 0], np.int32), np.zeros(3, np.int32), ("x", "y"), ("a",))
    scenario = Scenario.of(updates, requests, origin_s=0.0, cache=Cache.CLIENT, warn=lambda _: None)
    spans = intervals(scenario)
    assert spans == {"a": [(asked[0], asked[2])]}
    found = errors(scenario, spans, "a")
    # Five updates in five such hours: IndHist and AggHist expect one, and one there was.
    assert found["IndHist"] == found["AggHist"] == {0: 1}
    # Modified 23.5 h before, TTL gives 1.05 times as much: 24.5 h of 24.675 h, which is less than one update.
    assert found["TTL"] == {1: 1}
