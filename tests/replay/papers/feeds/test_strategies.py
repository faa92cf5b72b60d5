"""The four strategies: on paper, and what they must keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.papers.feeds.strategies import (
    both,
    both_with_gaps,
    divided,
    numbers_and_gaps,
    papers_points,
    timed,
    uniform,
    weekly,
    whole_visits,
)

AFTERNOON = np.zeros((1, 24))
AFTERNOON[0, 12:15] = 1 / 3


def test_uniform_retrievals_have_one_spacing_and_their_own_phases():
    schedules = uniform(5, 4)
    assert schedules.spacing_s.tolist() == [DAY_S / 4] * 5
    assert len({float(first) for first in schedules.first_s}) == 5
    assert np.all(schedules.first_s < DAY_S / 4)


def test_division_is_by_the_root_of_rate_and_weight():
    schedules = divided(np.array([1.0, 4.0, 1.0]), np.array([1.0, 1.0, 9.0]), 2.0)
    assert DAY_S / schedules.spacing_s == pytest.approx([1.0, 2.0, 3.0])


def test_one_retrieval_follows_the_hours_of_posting():
    assert timed(AFTERNOON, 1).points_s[0].tolist() == [15 * HOUR_S]
    assert timed(AFTERNOON, 1, papers_points).points_s[0].tolist() == [15 * HOUR_S]


def test_whole_visits_on_paper():
    # roots 1, 2, 3: 12 visits are 2, 4, 6; of 13 the last gains most where lambda (1/x - 1/(x+1)) is 9/42
    assert whole_visits(np.array([1.0, 4.0, 9.0]), None, 12).tolist() == [2, 4, 6]
    assert whole_visits(np.array([1.0, 4.0, 9.0]), None, 13).tolist() == [2, 4, 7]
    # the first would have a tenth of a visit, but has one
    assert whole_visits(np.array([0.01, 1.0, 1.0]), None, 5).tolist() == [1, 2, 2]


@given(
    st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=20),
    st.integers(0, 200),
)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_whole_visits_spend_the_budget_and_leave_no_feed_out(rates, spare):
    visits = whole_visits(np.array(rates), None, len(rates) + spare)
    assert visits.sum() == len(rates) + spare
    assert visits.min() >= 1
    order = np.argsort(rates)
    assert np.all(np.diff(visits[order]) >= -1)


def test_a_week_has_the_visits_spread_over_its_days():
    plan = weekly(np.array([3, 9, 14]), np.repeat(AFTERNOON, 3, 0))
    days = [np.bincount((points // DAY_S).astype(int), minlength=7).tolist() for points in plan.points_s]
    assert [sorted(own) for own in days] == [[0] * 4 + [1] * 3, [1] * 5 + [2] * 2, [2] * 7]
    assert all(np.all(np.diff(points) > 0) for points in plan.points_s)
    assert days[0] in ([0, 0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0, 1])


def test_both_spend_the_budget_of_a_week():
    plan = both(np.array([1.0, 9.0, 30.0]), np.repeat(AFTERNOON, 3, 0), None, 2.0)
    assert plan.retrievals(0.0, 7 * DAY_S).sum() == 2 * 3 * 7


def test_gaps_are_whole_days_and_numbers_a_day_are_whole():
    """Theorem 1 gives these feeds 0.054, 0.54 and 5.4 retrievals a day."""
    rates = np.array([0.01, 1.0, 100.0])
    plan = both_with_gaps(rates, np.repeat(AFTERNOON, 3, 0), None, 2.0)
    numbers = numbers_and_gaps(rates, None, 6.0)
    assert numbers.tolist() == [1 / 18, 1 / 2, 5.0]
    assert plan.retrievals(0.0, 18 * DAY_S).tolist() == [1, 9, 90]
    assert numbers_and_gaps(np.array([0.0, 1.0]), None, 1.0).tolist() == [0.0, 1.0]
