"""Plans that can be made on paper, and what every plan keeps to."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.table import ALLOCATIONS
from bestbefore.policies.prefetch.visits import (
    MOST_PER_DAY,
    ObjectEstimates,
    VisitConstraints,
    _spaced_by_owner,
    plan_visits,
    spread,
    visit_gain,
    visits_per_day,
)
from bestbefore.policies.units import DAY_S, HOUR_S

NOW_S = 20_000 * DAY_S  # midnight UTC
FLAT = np.full(24, 1.0 / 24)
MORNING = np.eye(24)[8]  # everything between 8 and 9 o'clock


def objects(rates_per_day, profiles=None, weights=None, last_h_ago=None, owner=None):
    n = len(rates_per_day)
    return ObjectEstimates(
        np.array(rates_per_day, dtype=float) / 24.0,
        np.array([FLAT] * n if profiles is None else profiles),
        np.array([1.0] * n if weights is None else weights, dtype=float),
        NOW_S - HOUR_S * np.array([0.0] * n if last_h_ago is None else last_h_ago, dtype=float),
        np.arange(n) if owner is None else np.array(owner),
    )


def hours(visits):
    return [(due - NOW_S) / HOUR_S for due in visits.due_s.tolist()]


def test_without_a_pattern_visits_are_evenly_spaced_from_the_last_contact():
    visits = plan_visits(
        objects([1.0], last_h_ago=[5.0]), VisitConstraints(3.0, "freshness", 2.0), NOW_S, NOW_S + DAY_S
    )
    assert hours(visits) == pytest.approx([3.0, 11.0, 19.0])


def test_a_pattern_decides_the_hour():
    visits = plan_visits(objects([1.0], [MORNING]), VisitConstraints(1.0, "delay", 2.0), NOW_S, NOW_S + 2 * DAY_S)
    assert hours(visits) == pytest.approx([9.0, 33.0])


def test_on_demand_a_pattern_decides_nothing():
    some, evenly = objects([1.0], [MORNING], last_h_ago=[5.0]), VisitConstraints(2.0, "delay", 2.0, evenly=True)
    assert hours(plan_visits(some, evenly, NOW_S, NOW_S + DAY_S)) == pytest.approx([7.0, 19.0])


def test_a_plan_of_many_days_has_all_rare_visits():
    some = objects([1.0, 1.0], [FLAT, MORNING], last_h_ago=[6.0, 0.0])
    visits = plan_visits(some, VisitConstraints(0.8, "delay", 2.0), NOW_S, NOW_S + 100 * DAY_S)
    first, second = (visits.due_s[visits.number == i] for i in (0, 1))
    assert np.diff(first) == pytest.approx(np.full(39, 2.5 * DAY_S))
    assert set(np.diff(second) / DAY_S) == {2.0, 3.0}
    assert second.size == pytest.approx(40, abs=2)


def test_what_was_missed_is_done_now_and_once():
    for profile in (FLAT, MORNING):
        visits = plan_visits(
            objects([1.0], [profile], last_h_ago=[100.0]), VisitConstraints(2.0, "delay", 2.0), NOW_S, NOW_S + HOUR_S
        )
        assert hours(visits) == [0.0]


@pytest.mark.parametrize(("contact_h", "due_h"), [(0.0, [9.0]), (8.4, [9.0]), (8.6, []), (9.5, [])])
def test_a_contact_that_saw_most_of_the_updates_stands_for_the_visit_after_it(contact_h, due_h):
    some = objects([1.0], [MORNING], last_h_ago=[-contact_h])
    visits = plan_visits(some, VisitConstraints(1.0, "delay", 2.0), NOW_S + contact_h * HOUR_S, NOW_S + 30 * HOUR_S)
    assert hours(visits) == pytest.approx(due_h)


@pytest.mark.parametrize(("contact_h", "due_h"), [(20.4, [21.0, 33.0]), (20.6, [33.0])])
def test_what_a_visit_is_there_for_are_the_updates_since_the_one_before(contact_h, due_h):
    """Half of the updates come between 8 and 9 o'clock, half between 20 and 21; a visit follows each."""
    twice = (np.eye(24)[8] + np.eye(24)[20]) / 2
    some = objects([1.0], [twice], last_h_ago=[-contact_h])
    visits = plan_visits(some, VisitConstraints(2.0, "delay", 2.0), NOW_S + contact_h * HOUR_S, NOW_S + 40 * HOUR_S)
    assert hours(visits) == pytest.approx(due_h)


@pytest.mark.parametrize(("share", "due_h"), [(0.3, 9.0), (0.03, 20.0)])
def test_a_pattern_decides_only_where_that_saves_a_twentieth_of_the_delay(share, due_h):
    """At 9 this share of the updates waits half an hour, the rest 12 hours; evenly spaced, all wait 12 hours."""
    some = objects([1.0], [share * MORNING + (1.0 - share) * FLAT], last_h_ago=[4.0])
    assert hours(plan_visits(some, VisitConstraints(1.0, "delay", 2.0), NOW_S, NOW_S + DAY_S)) == pytest.approx([due_h])


def test_visits_are_whole_numbers_each_day_that_add_up_to_what_is_allocated():
    some = objects([1.0] * 4, [FLAT] * 4)
    visits = plan_visits(some, VisitConstraints(6.0, "uniform", 2.0), NOW_S, NOW_S + DAY_S)
    assert np.bincount(visits.number).tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize(
    "per_day", [0.4, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.95, 0.7, 0.13))]
)
def test_rare_visits_come_at_their_hour_of_the_day_and_as_often_as_they_should(per_day):
    last_s, days = NOW_S, []
    for _ in range(1000):
        one = ObjectEstimates(
            np.array([0.1]), np.array([MORNING]), np.ones(1), np.array([last_s]), np.zeros(1, dtype=np.intp)
        )
        visits = plan_visits(one, VisitConstraints(per_day, "delay", 2.0), last_s, last_s + 30 * DAY_S)
        due_s = float(visits.due_s[0])
        assert (due_s % DAY_S) / HOUR_S == pytest.approx(9.0)
        days.append((due_s - last_s) / DAY_S)
        last_s = due_s
    assert np.mean(days[1:]) == pytest.approx(1.0 / per_day, rel=0.03)
    assert np.ptp(days[1:]) <= 1.0 + 1e-9


def test_visits_to_one_owner_keep_their_distance():
    visits = plan_visits(
        objects([1.0] * 4, [MORNING] * 4, owner=[0, 0, 0, 1]),
        VisitConstraints(4.0, "delay", 60.0),
        NOW_S,
        NOW_S + DAY_S,
    )
    assert hours(visits) == pytest.approx([9.0, 9.0, 9.0 + 1 / 60, 9.0 + 2 / 60])


def test_of_what_does_not_fit_the_least_valuable_is_left_out():
    many = objects([1.0] * 5, weights=[1.0, 5.0, 2.0, 4.0, 3.0], last_h_ago=[100.0] * 5, owner=[0] * 5)
    visits = plan_visits(many, VisitConstraints(100.0, "delay", 100.0), NOW_S, NOW_S + 250.0)
    assert sorted(visits.number.tolist()) == [1, 3, 4]


def test_a_site_that_allows_less_than_one_visit_a_day_gets_no_more():
    shares = visits_per_day(objects([1.0, 1.0], owner=[0, 0]), VisitConstraints(0.8, "uniform", 2.0 * DAY_S))
    assert shares == pytest.approx([0.25, 0.25])


def test_exactly_as_many_visits_fit_as_there_are_intervals():
    """At 0, 100 and 200 s, in the order in which they were due and not in that of their gains."""
    many = objects([1.0] * 4, weights=[1.0, 5.0, 2.0, 4.0], last_h_ago=[103.0, 101.0, 102.0, 100.0], owner=[0] * 4)
    visits = plan_visits(many, VisitConstraints(100.0, "delay", 100.0), NOW_S, NOW_S + 200.0)
    assert sorted(visits.number.tolist()) == [1, 2, 3]
    assert visits.due_s - NOW_S == pytest.approx([0.0, 100.0, 200.0])


def test_the_allocation_is_that_of_the_objective():
    some = objects([1.0, 2.0, 9.0], weights=[3.0, 1.0, 2.0])
    for objective in ("freshness", "age", "delay", "uniform", "proportional"):
        expected = getattr(continuous, objective)(some.rates_per_hour * 24.0, some.weights_per_hour, 6.0)
        assert visits_per_day(some, VisitConstraints(6.0, objective, 2.0)) == pytest.approx(expected)


def test_what_limits_leave_over_goes_to_others():
    some = objects([1000.0, 1.0, 1.0], owner=[0, 1, 1])
    shares = visits_per_day(some, VisitConstraints(2000.0, "delay", 2.0))
    assert shares == pytest.approx([MOST_PER_DAY] * 3)
    slow = visits_per_day(some, VisitConstraints(150.0, "delay", DAY_S / 10.0))
    assert slow == pytest.approx([10.0, 5.0, 5.0])


def test_however_many_limits_are_reached_one_after_the_other_the_budget_is_spent():
    """Of 40 objects of different owners, each with 16 times the weight of the next, few reach their limit at a time."""
    shares = visits_per_day(
        objects([1.0] * 40, weights=16.0 ** -np.arange(40.0)), VisitConstraints(360.0, "delay", DAY_S / 10.0)
    )
    assert shares.sum() == pytest.approx(360.0)
    assert shares[:35] == pytest.approx([10.0] * 35)
    assert np.all(shares > 0.0)


def test_an_owner_has_no_more_visits_than_its_interval_allows_also_with_objects_at_their_own_limits():
    some = objects([1.0] * 3, weights=[1e6, 1.0, 1.0], owner=[0, 0, 1])
    shares = visits_per_day(some, VisitConstraints(1000.0, "delay", 200.0))
    assert shares == pytest.approx([MOST_PER_DAY, DAY_S / 200.0 - MOST_PER_DAY, MOST_PER_DAY])


def test_nothing_to_visit_is_no_plan():
    for some in (objects([]), objects([0.0, 1.0], weights=[1.0, 0.0])):
        assert plan_visits(some, VisitConstraints(5.0, "freshness", 2.0), NOW_S, NOW_S + DAY_S).number.size == 0


def test_an_unknown_allocation_is_refused():
    with pytest.raises(ValueError, match="expected one of uniform, proportional, freshness, age, delay"):
        visits_per_day(objects([1.0]), VisitConstraints(1.0, "speed", 2.0))


def test_what_a_visit_saves_is_the_integral_of_what_it_prevents():
    before_s, at_s, after_s, rate, requests = 0.0, 3 * HOUR_S, 10 * HOUR_S, 0.3, 5.0
    u = np.linspace(3.0, 10.0, 100_001)
    outdated = (1 - np.exp(-rate * u)) - (1 - np.exp(-rate * (u - 3.0)))
    assert visit_gain(rate, requests, before_s, at_s, after_s) == pytest.approx(requests * np.trapezoid(outdated, u))
    assert visit_gain(0.0, requests, before_s, at_s, after_s) == 0.0


@given(st.lists(st.floats(0.0, 100.0)), st.floats(0.0, 10.0))
def test_spreading_moves_only_later_and_no_further_than_needed(times, interval_s):
    due = np.array(sorted(times))
    moved = spread(due, interval_s)
    assert np.all(moved >= due - 1e-9)
    assert np.all(np.diff(moved) >= interval_s - 1e-9)
    for j in range(due.size):
        assert any(math.isclose(moved[j], due[i] + (j - i) * interval_s, abs_tol=1e-6) for i in range(j + 1))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.data())
def test_every_plan_keeps_its_terms(data):
    n = data.draw(st.integers(1, 12))
    numbers = lambda low, high: data.draw(st.lists(st.floats(low, high), min_size=n, max_size=n))  # noqa: E731
    profile = [data.draw(st.sampled_from([FLAT, MORNING, (FLAT + MORNING) / 2])) for _ in range(n)]
    owner = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    some = objects(numbers(0.0, 50.0), profile, numbers(0.0, 10.0), numbers(0.0, 100.0), owner)
    interval_s = data.draw(st.sampled_from([30.0, 250.0, 7200.0]))
    constraints = VisitConstraints(
        data.draw(st.floats(0.1, 1000.0)), data.draw(st.sampled_from(list(ALLOCATIONS))), interval_s
    )
    visits = plan_visits(some, constraints, NOW_S, NOW_S + DAY_S)
    assert float(visits.per_day.sum()) <= constraints.budget_per_day * (1 + 1e-9)
    assert np.all(np.bincount(owner, visits.per_day) <= DAY_S / interval_s * (1 + 1e-9))
    # What was missed is done beside what is due, and rare visits round up: one more of each object at most.
    assert visits.number.size <= constraints.budget_per_day + 2 * n
    assert np.all((visits.due_s >= NOW_S) & (visits.due_s <= NOW_S + DAY_S))
    assert np.all(np.diff(visits.due_s) >= 0.0)
    assert np.all(visits.gain >= 0.0)
    for one in set(owner):
        mine = visits.due_s[np.array(owner)[visits.number] == one]
        assert np.all(np.diff(mine) >= constraints.interval_s - 1e-6)


def test_a_visit_of_little_use_takes_no_place_of_a_better_one_after_it():
    """Two fit: with the first of the three, which is due before the others, one of these would come too late."""
    number, due_s, gain = np.arange(3), NOW_S + np.array([0.0, 1.0, 2.0]), np.array([1.0, 9.0, 5.0])
    kept = _spaced_by_owner(number, due_s, gain, np.zeros(3, int), 10.0, NOW_S, NOW_S + 15.0)
    assert [part.tolist() for part in kept] == [[1, 2], [NOW_S + 1.0, NOW_S + 11.0], [9.0, 5.0]]
