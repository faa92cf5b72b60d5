"""The ratio of contacts that became due to those expected, over the last period."""

import pytest

from bestbefore.policies.prefetch.online.pace import PARTS, Pace
from bestbefore.policies.units import DAY_S, HOUR_S


def test_a_part_of_the_period_ends_after_its_length_and_when_the_clock_is_set_back():
    pace = Pace(DAY_S, 1000.0)
    assert not pace.is_over(1000.0 + HOUR_S - 1)
    assert pace.is_over(1000.0 + HOUR_S)
    assert pace.is_over(999.0)


def test_what_was_not_observed_counts_as_expected():
    pace = Pace(DAY_S, 0.0)
    assert pace.ratio(10.0) == 1.0
    for _ in range(20):
        pace.count(1.0)
    pace.next_part(HOUR_S, 10.0)
    assert pace.ratio(10.0) == pytest.approx((20 + 230 + 1) / (240 + 1))


def test_after_a_period_only_what_was_observed_counts():
    pace = Pace(DAY_S, 0.0)
    for hour in range(3 * PARTS):
        for _ in range(5):
            pace.count(1.0)
        pace.next_part((hour + 1) * HOUR_S, 10.0)
    assert pace.ratio(10.0) == pytest.approx((120 + 1) / (240 + 1))
    pace.next_part(100 * DAY_S, 10.0)  # after a pause
    assert pace.ratio(10.0) == 1.0


def test_the_time_in_which_no_contact_is_possible_does_not_count():
    pace = Pace(DAY_S, 0.0)
    for _ in range(20):
        pace.count(1.0)
    pace.next_part(HOUR_S, 10.0)
    for hour in range(1, 12):
        pace.idle(hour * HOUR_S)
    assert pace.is_idle
    pace.count(1.0)
    assert not pace.is_idle
    pace.next_part(11.5 * HOUR_S, 10.0)
    assert pace.ratio(10.0) == pytest.approx((20 + 1 + 220 + 1) / (10 + 5 + 220 + 1))
