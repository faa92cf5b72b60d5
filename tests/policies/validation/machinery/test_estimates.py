from statistics import median as expected_median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.estimates import (
    expected_within,
    median,
    set_group_pattern,
    set_joined_group_pattern,
    set_own_rates,
)
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures

HOUR = 3600.0
DAY = 86400.0
NOON = History.of([d * DAY + 12.5 * HOUR for d in range(4)], 0.0)


def test_own_rates_are_counts_over_hours() -> None:
    known = HistoryFeatures(NOON, None, 4 * DAY)
    set_own_rates(known)
    assert {k: rate for k, rate in enumerate(known.by_bin.rates) if rate} == {12: 1.0}


def test_what_was_expected_within_a_window_follows_from_what_came_before_it() -> None:
    known = HistoryFeatures(NOON, None, 4 * DAY)
    assert expected_within(known, 2 * DAY, 2) == pytest.approx(2.0)


def test_the_pattern_of_a_group_is_its_rate_over_the_mean() -> None:
    known = HistoryFeatures(NOON, Group.of_updates(NOON.times_s, [0.0]), 4 * DAY)
    set_group_pattern(known, known.set_group_counts())
    assert {k: rate for k, rate in enumerate(known.by_bin.rates) if rate} == {12: 24.0}


def test_hours_that_do_not_differ_enough_are_joined_as_the_group_itself_joins_them() -> None:
    times_s = np.concatenate([np.arange(0.0, 40 * DAY, HOUR) + 1.0, NOON.times_s])
    group = Group.of_updates(times_s, [0.0])
    known = HistoryFeatures(NOON, group, 40 * DAY)
    segments = set_joined_group_pattern(known, known.set_group_counts(), 0.001)
    expected = group.optimal_pattern(-1.0, 40 * DAY, 0.0, 0.001)
    assert (known.by_bin.edges_s[: segments + 1], known.by_bin.rates[:segments]) == expected


@given(st.lists(st.floats(0.0, 1e9), min_size=1, max_size=32))
@settings(max_examples=200, derandomize=True)
def test_the_median_is_that_of_the_first_values(values: list[float]) -> None:
    assert median([*values, -1.0], len(values)) == expected_median(values)
