import math

import numpy as np

from bestbefore.policies.models.demand import first_request, requested
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import RECENT_GAPS
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures

DAY = 86400.0
KNOWN = History.of([100.0, 5000.0, 9000.0, 20_000.0], 50.0)


def test_updates_are_counted_in_the_history_window_and_others_in_their_own() -> None:
    known = HistoryFeatures(KNOWN, None, 10_000.0, window_s=6000.0)
    assert (known.known_since_s(), known.observed_since_s()) == (50.0, 4000.0)
    assert (known.last_update_s(), known.next_update_s()) == (9000.0, 20_000.0)
    assert known.counted_updates() == known.set_counts() == 2
    assert known.by_bin.counts[:4] == [0, 1, 1, 0]
    assert (known.updates_within(1000.0), known.updates_within(1001.0), known.updates_within(DAY)) == (0, 1, 3)
    assert known.oldest_within_s(DAY, 3) == 100.0
    known.set_counts_before(2000.0, 1)
    assert known.by_bin.counts[:4] == [0, 1, 0, 0]


def test_what_is_not_known_is_no_number() -> None:
    nothing = HistoryFeatures(History.of([], 0.0), None, 10.0)
    assert math.isnan(nothing.last_update_s())
    assert math.isnan(nothing.state)
    assert nothing.next_update_s() == nothing.group_since_s() == math.inf
    assert nothing.set_group_counts() == nothing.set_group_gaps() == nothing.member_hours() == 0


def test_the_last_gaps_are_those_between_counted_updates() -> None:
    known = HistoryFeatures(KNOWN, None, 10_000.0)
    assert known.set_gaps() == 2
    assert known.by_bin.gaps_s[:2] == [4000.0, 4900.0]
    assert HistoryFeatures(KNOWN, None, 10_000.0, window_s=6000.0).set_gaps() == 1
    assert HistoryFeatures(History.of(range(100), 0.0), None, 10_000.0).set_gaps() == RECENT_GAPS
    assert HistoryFeatures(History.of([], 0.0), None, 10.0).set_gaps() == 0


def test_the_last_gaps_of_a_group_are_those_between_its_counted_updates() -> None:
    group = Group.of_updates(np.array([10.0, 4000.0, 4000.0, 9000.0, 11_000.0]), [0.0])
    known = HistoryFeatures(KNOWN, group, 10_000.0)
    assert known.set_group_gaps() == 3
    assert known.by_bin.gaps_s[:3] == [5000.0, 0.0, 3990.0]
    assert HistoryFeatures(KNOWN, group, 10_000.0, window_s=9990.0).set_group_gaps() == 2
    many = Group.of_updates(np.arange(100.0), [0.0])
    assert HistoryFeatures(KNOWN, many, 10_000.0).set_group_gaps() == RECENT_GAPS
    by_hours = Group.of_hours({0: 2, 2: 1}, {0: 1})
    known = HistoryFeatures(KNOWN, by_hours, 10_000.0)
    assert known.set_group_gaps() == 2
    assert known.by_bin.gaps_s[:2] == [7200.0, 0.0]


def test_segments_are_those_of_the_group() -> None:
    halves = Group.of_updates(np.array([10.0, 50_000.0, 60_000.0]), [0.0], [0.0, DAY / 2, DAY])
    known = HistoryFeatures(KNOWN, halves, DAY)
    assert known.set_group_counts() == 3
    assert known.by_bin.counts == [1, 2]
    assert known.by_bin.group_edges_s == [0.0, DAY / 2, DAY]


def test_without_a_group_or_requests_the_least_is_assumed() -> None:
    known = HistoryFeatures(KNOWN, None, DAY)
    assert (known.group_weekend_updates(), known.group_rate_per_s()) == (0, 1 / DAY)
    assert known.demand() == first_request(DAY)
    asked = requested(first_request(0.0), DAY)
    assert HistoryFeatures(KNOWN, None, DAY, demand=asked).demand() is asked


def test_the_memory_reaches_beyond_the_history_window() -> None:
    assert HistoryFeatures(KNOWN, None, DAY, window_s=1.0).update_memory() == KNOWN.memory_at(DAY)
