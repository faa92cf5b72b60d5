import math
from statistics import median as expected_median

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.models.intensity import HOURLY_S, exposure_h
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
NOTHING = History.of([], 0.0)
MEMBERS = st.lists(st.lists(st.integers(0, 10 * 86400).map(float), max_size=15), min_size=1, max_size=5)


def of_group(*times: list[float], t: float, after_s: float = -math.inf) -> HistoryFeatures:
    """What is known of an object without updates, whose group has members with these, observed since 0."""
    group = Group.of_updates(np.concatenate([np.array(each, dtype=float) for each in times]), [0.0] * len(times))
    return HistoryFeatures(NOTHING, group, t, window_s=t - after_s)


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


def test_the_pattern_is_the_intensity_of_all_members_over_its_mean() -> None:
    known = of_group([12.5 * HOUR, 13.5 * HOUR], [12.75 * HOUR, DAY + 12.5 * HOUR], t=2 * DAY)
    set_group_pattern(known, known.set_group_counts())
    assert {k: s for k, s in enumerate(known.by_bin.rates) if s} == pytest.approx({12: 3 / 4 * 24, 13: 1 / 4 * 24})


@given(MEMBERS, st.integers(1, 11 * 86400), st.integers(-1, 11 * 86400))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_the_mean_of_the_pattern_is_one(times: list[list[float]], t: int, after: int) -> None:
    assume(after < t)
    known = of_group(*times, t=float(t), after_s=after)
    updates = known.set_group_counts()
    assume(updates)
    hours = exposure_h(HOURLY_S, max(0.0, after), t)
    # An update at t where an hour begins lies in one that was not observed, so that it has no rate.
    assume(all(h > 0.0 for h, n in zip(hours, known.by_bin.counts, strict=True) if n))
    set_group_pattern(known, updates)
    assert sum(s * h for s, h in zip(known.by_bin.rates, hours, strict=True)) == pytest.approx(sum(hours))


def test_a_pattern_may_be_of_unequal_segments_of_the_day() -> None:
    group = Group.of_updates(np.array([6.9 * HOUR, 7 * HOUR, 23 * HOUR, DAY]), [0.0], [0.0, 7 * HOUR, DAY])
    known = HistoryFeatures(NOTHING, group, DAY)
    set_group_pattern(known, known.set_group_counts())
    assert known.by_bin.rates == pytest.approx([2 / 7 * 6, 2 / 17 * 6])


def test_hours_that_do_not_differ_enough_are_joined() -> None:
    # Ten days; each day an update at 8:30, 9:30, 10:30 and 11:30, and one every other day at 20:30.
    times = [d * DAY + h * HOUR for d in range(10) for h in (8.5, 9.5, 10.5, 11.5)]
    times += [d * DAY + 20.5 * HOUR for d in range(0, 10, 2)]
    known = of_group(times, t=10 * DAY)
    segments = set_joined_group_pattern(known, known.set_group_counts(), 1.0)
    assert known.by_bin.edges_s[: segments + 1] == [0.0, 8 * HOUR, 12 * HOUR, 20 * HOUR, 21 * HOUR, DAY]
    # 45 updates in 240 hours: 1, then 0.5 an hour over a mean of 0.1875.
    assert known.by_bin.rates[:segments] == pytest.approx([0.0, 1 / 0.1875, 0.0, 0.5 / 0.1875, 0.0])


def test_a_large_penalty_leaves_one_segment_at_the_mean() -> None:
    known = of_group([d * DAY + h * HOUR for d in range(10) for h in (8.5, 9.5)], t=10 * DAY)
    segments = set_joined_group_pattern(known, known.set_group_counts(), 1e6)
    assert (known.by_bin.edges_s[: segments + 1], known.by_bin.rates[:segments]) == ([0.0, DAY], [1.0])


@given(st.lists(st.floats(0.0, 1e9), min_size=1, max_size=32))
@settings(max_examples=200, derandomize=True)
def test_the_median_is_that_of_the_first_values(values: list[float]) -> None:
    assert median([*values, -1.0], len(values)) == expected_median(values)
