"""The correction of a budget settles where as much becomes due as it allows."""

import pytest

from bestbefore.policies.prefetch.online.pace import PARTS, Pace
from bestbefore.policies.units import DAY_S, HOUR_S


def spend(pace: Pace, hour: int, cost: float, budget: float = 10.0) -> None:
    pace.count(cost)
    pace.next_part((hour + 1) * HOUR_S, budget, DAY_S)


def test_a_part_of_the_period_ends_after_its_length_and_when_the_clock_is_set_back():
    pace = Pace(DAY_S, 1000.0)
    assert not pace.is_over(1000.0 + HOUR_S - 1)
    assert pace.is_over(1000.0 + HOUR_S)
    assert pace.is_over(999.0)


def test_what_is_due_at_the_start_does_not_count():
    pace = Pace(DAY_S, 0.0)
    spend(pace, 0, 1000.0)
    assert pace.correction == 1.0


def test_after_a_period_of_twice_the_budget_the_correction_is_moving_there():
    pace = Pace(DAY_S, 0.0)
    for hour in range(PARTS + 1):
        spend(pace, hour, 20.0)
    assert 1.3 < pace.correction < 2.0
    spend(pace, 1000, 5.0)  # after a pause
    assert 1.3 < pace.correction < 2.0


def test_it_settles_where_the_budget_is_kept():
    """What becomes due is three times what is wanted, and falls with the correction."""
    pace, due = Pace(DAY_S, 0.0), 0.0
    for hour in range(14 * PARTS):
        due = 3.0 * 10.0 / pace.correction
        spend(pace, hour, due)
    assert pace.correction == pytest.approx(3.0, rel=0.05)
    assert due == pytest.approx(10.0, rel=0.05)


def test_the_budget_is_kept_in_the_mean_of_days_that_differ():
    pace, due = Pace(DAY_S, 0.0), []
    for hour in range(20 * 7 * PARTS):
        due.append((18.0 if hour // PARTS % 7 < 3 else 4.0) / pace.correction)
        spend(pace, hour, due[-1])
    assert sum(due[-10 * 7 * PARTS :]) / (10 * 7 * PARTS) == pytest.approx(10.0, rel=0.005)


def test_it_moves_slowly_where_objects_are_contacted_rarely():
    often, rarely = Pace(DAY_S, 0.0), Pace(DAY_S, 0.0)
    for hour in range(2 * PARTS):
        for pace, interval_s in ((often, HOUR_S), (rarely, 10 * DAY_S)):
            pace.count(20.0)
            pace.next_part((hour + 1) * HOUR_S, 10.0, interval_s)
    assert often.correction > 2.0
    assert rarely.correction < 1.2
