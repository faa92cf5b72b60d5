import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.siblings.least_chance import least_chance

DAY, HOUR_S = 86_400.0, 3_600.0


def alone(tolerated: float, per_day: float) -> float:
    """The probability, if an object that changes so often by itself is to be told by its siblings."""
    return 1.0 - (1.0 - tolerated) * math.exp(-per_day / 24.0)


def test_it_is_half_the_number_of_updates_expected_until_the_expiry() -> None:
    history = History.of([(day + 0.5) * DAY for day in range(9)], 0.0)  # (9 + 0.5) updates in (9 + 1) days
    assert least_chance(history, 9 * DAY, 9.5 * DAY, 0.05) == pytest.approx(alone(0.5 * 0.95 * 0.5, 0.95))


def test_a_policy_that_tolerates_less_is_not_asked_below_the_least() -> None:
    history = History.of([DAY], 0.0)
    assert least_chance(history, 30 * DAY, 30.5 * DAY, 0.05) == pytest.approx(alone(0.05, 1.5 / 31))
    assert least_chance(history, 30 * DAY, 30.5 * DAY, 1.0) == 1.0


def test_a_copy_that_never_expires_is_never_outdated() -> None:
    assert least_chance(History.of([], 0.0), DAY, math.inf, 0.05) == 1.0


def test_an_object_that_changes_often_is_not_outdated_by_what_coincides_by_chance() -> None:
    history = History.of([i * HOUR_S for i in range(240)], 0.0)
    minutes = least_chance(history, 10 * DAY, 10 * DAY + 60.0, 0.05)
    by_chance = 1.0 - math.exp(-20.0 / 60.0)  # a change every hour, and twenty minutes in which changes match
    assert minutes > 1.5 * by_chance


@given(st.lists(st.floats(0.0, 1e6), max_size=5), st.floats(0.0, 1e6), st.floats(0.0, 1e6))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_it_grows_with_the_lifetime(times_s: list[float], current_s: float, lifetime_s: float) -> None:
    history = History.of(times_s, 5e5)
    shorter = least_chance(history, current_s, current_s + lifetime_s, 0.02)
    assert 0.02 <= shorter <= least_chance(history, current_s, current_s + 2 * lifetime_s, 0.02)
