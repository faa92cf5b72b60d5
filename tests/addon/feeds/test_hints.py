"""What a feed declares bounds what was learnt, and replaces nothing."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.feeds.document import Hints
from bestbefore.addon.feeds.hints import bounded, period_s, skip_days, skip_hours, ttl_s

T = 1_795_161_600.0  # Friday 2026-11-20 08:00 UTC
HOUR = 3600.0
DAY = 86400.0


def test_ttl_counts_minutes_and_the_period_is_shared_by_its_frequency() -> None:
    assert ttl_s(" 60 ") == HOUR
    assert period_s("daily", "4") == 6 * HOUR
    assert period_s(None, "2") == 12 * HOUR  # the module's default period is a day
    assert period_s("hourly", None) == HOUR


@pytest.mark.parametrize("text", [None, "", "-5", "1e3", "soon", "9" * 40, "٣"])
def test_a_ttl_that_cannot_be_read_says_nothing(text: str | None) -> None:
    assert ttl_s(text) == 0.0


def test_hours_and_days_that_are_none_are_left_out() -> None:
    assert skip_hours(["0", "24", " 5", "25", "x"]) == (0, 5)
    assert skip_days(["Saturday", "sun", "Caturday", ""]) == (5, 6)


def test_a_hint_lengthens_a_shorter_learned_lifetime_up_to_the_limit() -> None:
    assert bounded(T + 60, T, Hints(least_s=1800.0), HOUR) == T + 1800
    assert bounded(T + 60, T, Hints(least_s=365 * DAY), HOUR) == T + HOUR


def test_a_longer_learned_lifetime_stays_what_it_is() -> None:
    assert bounded(T + 6 * HOUR, T, Hints(least_s=HOUR), HOUR) == T + 6 * HOUR
    assert bounded(math.inf, T, Hints(least_s=HOUR, skip_hours=(3,)), HOUR) == math.inf


def test_skipped_hours_and_days_are_waited_for() -> None:
    assert bounded(T + 60, T, Hints(skip_hours=(8, 9)), DAY) == T + 2 * HOUR
    assert bounded(T + 60, T, Hints(skip_days=(4,)), DAY) == T + 16 * HOUR


def test_a_feed_that_skips_the_whole_week_is_not_believed() -> None:
    assert bounded(T + 60, T, Hints(skip_hours=tuple(range(24))), 30 * DAY) == T + 60


@settings(max_examples=100, derandomize=True)
@given(
    st.floats(-DAY, 30 * DAY),
    st.builds(
        Hints,
        st.floats(0, 400 * DAY),
        st.lists(st.integers(0, 23), unique=True).map(tuple),
        st.lists(st.integers(0, 6), unique=True).map(tuple),
    ),
    st.floats(0, 7 * DAY),
)
def test_the_bounded_expiry_is_never_earlier_than_learnt_nor_later_than_the_limit(
    lifetime_s: float, hints: Hints, most_s: float
) -> None:
    expiry_s = bounded(T + lifetime_s, T, hints, most_s)
    assert T + lifetime_s <= expiry_s <= max(T + lifetime_s, T + most_s)
