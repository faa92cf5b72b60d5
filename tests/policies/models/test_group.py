import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.models.history import History
from bestbefore.policies.models.member_rates import MemberRates

HOUR = 3600.0
DAY = 86400.0
few = settings(max_examples=50, derandomize=True, deadline=None)
members = st.lists(st.lists(st.integers(0, 10 * 86400).map(float), max_size=15), min_size=1, max_size=5)


def of(*times: list[float], since_s: float = 0.0) -> Group:
    return Group.of_updates(np.concatenate([np.array(t, dtype=float) for t in times]), [since_s] * len(times))


@given(members, st.integers(-1, 11 * 86400), st.integers(-1, 11 * 86400))
@few
def test_the_counts_are_the_sums_of_the_members(times: list[list[float]], a: int, b: int) -> None:
    histories = [History.of(t, 0.0) for t in times]
    group = of(*(h.times_s.tolist() for h in histories))
    each = [h.counts(min(a, b), max(a, b)) for h in histories]
    assert group.counts(min(a, b), max(a, b)) == [sum(counts) for counts in zip(*each, strict=True)]


def test_updates_of_two_members_at_one_instant_are_two() -> None:
    assert sum(of([500.0], [500.0]).counts(-math.inf, 500.0)) == 2


@given(st.dictionaries(st.integers(0, 200), st.integers(1, 9)), st.integers(-1, 201), st.integers(-1, 201))
@few
def test_counts_by_hour_are_those_of_updates_at_the_starts_of_the_hours(
    hours: dict[int, int], a: int, b: int
) -> None:
    live = Group.of_hours(hours, {0: 1})
    exact = of([h * HOUR for h, n in hours.items() for _ in range(n)])
    interval = (min(a, b) * HOUR, max(a, b) * HOUR)
    assert live.counts(*interval) == exact.counts(*interval)


def test_members_are_observed_from_their_own_starts() -> None:
    group = Group.of_updates(np.array([]), [10 * HOUR, 0.0, 10 * HOUR])
    assert group.since_s == 0.0
    assert [group.members(t) for t in (-1.0, 0.0, 9 * HOUR, 10 * HOUR)] == [0, 1, 1, 3]
    assert group.member_hours(-math.inf, 12 * HOUR) == 12 + 2 + 2
    assert group.member_hours(-math.inf, 5 * HOUR) == 5
    assert group.member_hours(11 * HOUR, 12 * HOUR) == 3
    assert group.member_hours(6 * HOUR, 12 * HOUR) == 6 + 2 + 2


@given(st.lists(st.integers(0, 500_000).map(float), max_size=12), st.integers(0, 600_000), st.integers(0, 600_000))
@few
def test_member_hours_are_the_sum_over_the_members(starts: list[float], a: int, b: int) -> None:
    after, t = min(a, b), max(a, b)
    hours = sum(t - max(start, after) for start in starts if start <= t) / HOUR
    assert Group.of_updates(np.array([]), starts).member_hours(after, t) == pytest.approx(hours, abs=1e-6)


def test_starts_by_hour_are_members() -> None:
    group = Group.of_hours({}, {100: 2, 103: 1})
    assert group.since_s == 100 * HOUR
    assert group.members(102 * HOUR) == 2
    assert group.member_hours(-math.inf, 104 * HOUR) == 4 + 4 + 1


def test_a_group_without_members_has_no_updates() -> None:
    group = Group.of_hours({}, {})
    assert group.since_s is None
    assert group.members(1e9) == 0
    assert group.member_hours(0.0, 1e9) == 0.0


def test_updates_count_in_unequal_segments_of_the_day_too() -> None:
    night_and_day = [0.0, 7 * HOUR, DAY]
    times = np.array([6.9 * HOUR, 7 * HOUR, 23 * HOUR, DAY])
    group = Group.of_updates(times, [0.0], night_and_day)
    assert group.counts(-math.inf, DAY) == [2, 2]


@given(members, st.integers(-1, 11 * 86400), st.integers(-1, 11 * 86400))
@few
def test_updates_at_weekends_are_counted_apart(times: list[list[float]], a: int, b: int) -> None:
    a, b = sorted((a, b))
    group = of(*times)
    assert group.weekend_updates(a, b) == sum(is_weekend(u) for t in times for u in t if a < u <= b)


@given(members, st.integers(1, 11 * 86400))
@few
def test_the_rate_is_the_geometric_mean_over_the_members(times: list[list[float]], t: int) -> None:
    histories = [History.of(each, 0.0).times_s for each in times]
    rates = [(int((u <= t).sum()) + 0.5) / max(t, 600) for u in histories]
    expected = math.exp(sum(map(math.log, rates)) / len(rates))
    assert Group.of_members(histories, [0.0] * len(histories)).rate_per_s(t) == pytest.approx(expected, rel=1e-5)


def test_the_rate_is_one_a_day_where_none_is_known() -> None:
    assert Group.of_hours({}, {}).rate_per_s(DAY) == 1 / DAY
    assert Group.of_members([np.empty(0)], [50.0]).rate_per_s(50.0) == 1 / DAY
    rates = MemberRates(1, 0)
    assert Group.of_hours({}, {}, rates).rate_per_s(DAY) == rates.per_s()


def test_members_with_other_starts_count_each_with_its_own_time() -> None:
    """As the rates of a live group do."""
    histories, starts = [np.array([DAY]), np.empty(0), np.array([5 * DAY, 6 * DAY])], [0.0, 4 * DAY, 4 * DAY]
    t = 10 * DAY
    expected = math.exp(np.mean([math.log((len(h) + 0.5) / (t - s)) for h, s in zip(histories, starts, strict=True)]))
    assert Group.of_members(histories, starts).rate_per_s(t) == pytest.approx(expected, rel=1e-5)
