"""Delays of postings under learnt retrievals, on paper and where the right window is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.papers.feeds.learning_windows import (
    delays_at_points_s,
    delays_at_rates_s,
    mean_delay_of_pattern_window_s,
    mean_delay_of_rate_window_s,
)


def test_retrievals_of_a_constant_rate_are_evenly_spaced():
    hours = np.array([0.0, 1.0, 6.0, 7.0, 30.0])
    delays = delays_at_rates_s(hours * HOUR_S, 0.0, np.array([4.0, 4.0]))
    assert delays / HOUR_S == pytest.approx([0.0, 5.0, 0.0, 5.0, 0.0])


def test_less_than_one_retrieval_a_day_waits_for_days():
    delays = delays_at_rates_s(np.array([0.25, 2.5]) * DAY_S, 0.0, np.array([0.5, 0.5, 1.0]))
    # Half of a retrieval is due after one day, a whole one after two; then one a day, for ever.
    assert delays / DAY_S == pytest.approx([1.75, 0.5])
    assert delays_at_rates_s(np.array([9.25]) * DAY_S, 0.0, np.array([0.5, 1.0])) / DAY_S == pytest.approx([0.25])


@given(
    st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6),
    st.lists(st.floats(0.0, 8.0), min_size=1, max_size=20),
)
@settings(max_examples=100, derandomize=True)
def test_each_posting_waits_for_the_first_retrieval_that_is_due(rates, days):
    times_s = np.array(days) * DAY_S + 1e6
    delays = delays_at_rates_s(times_s, 1e6, np.array(rates))
    due_at_midnight = np.concatenate(([0.0], np.cumsum(rates), np.sum(rates) + rates[-1] * np.arange(1, 200)))
    midnights_s = 1e6 + np.arange(due_at_midnight.size) * DAY_S
    retrievals_s = np.interp(np.arange(math.ceil(due_at_midnight[20])), due_at_midnight, midnights_s)
    for posted_s, retrieved_s in zip(times_s, times_s + delays, strict=True):
        assert np.min(np.abs(retrievals_s - retrieved_s)) < 1e-3
        assert not np.any((retrievals_s > posted_s + 1e-3) & (retrievals_s < retrieved_s - 1e-3))


def test_postings_wait_for_the_next_point_of_the_day():
    hours = np.array([0.0, 6.0, 6.5, 23.0])
    delays = delays_at_points_s(hours * HOUR_S + 5 * DAY_S, np.array([6.0, 18.0]))
    assert (delays / HOUR_S).tolist() == [6.0, 0.0, 11.5, 7.0]


def poisson_feeds(rng, rates_per_day, days):
    return [np.sort(rng.uniform(0.0, days * DAY_S, rng.poisson(rate * days))) for rate in rates_per_day]


def test_of_steady_feeds_a_longer_window_learns_the_rates_better():
    rng = np.random.default_rng(4)
    feeds = poisson_feeds(rng, np.geomspace(0.1, 20.0, 60), 60)
    short, long = (mean_delay_of_rate_window_s(feeds, 30 * DAY_S, 30, window, 4.0) for window in (1, 28))
    assert long < short


def test_of_feeds_that_exchange_their_rates_a_short_window_is_better():
    rng = np.random.default_rng(4)
    rates = np.array([0.2] * 20 + [20.0] * 20)
    before, after = poisson_feeds(rng, rates, 30), poisson_feeds(rng, rates[::-1], 30)
    feeds = [np.concatenate((b, a + 30 * DAY_S)) for b, a in zip(before, after, strict=True)]
    short, long = (mean_delay_of_rate_window_s(feeds, 30 * DAY_S, 30, window, 4.0) for window in (3, 30))
    assert short < long


def test_points_learnt_from_a_daily_hour_retrieve_right_after_it():
    daily = np.arange(28) * DAY_S + 9.5 * HOUR_S
    delay = mean_delay_of_pattern_window_s([daily], 14 * DAY_S, 14, 14, 1)
    assert delay == pytest.approx(0.5 * HOUR_S)


def test_a_feed_without_history_follows_the_others_if_they_are_used():
    daily = np.arange(28) * DAY_S + 9.5 * HOUR_S
    new = daily[14:]
    alone, told = (mean_delay_of_pattern_window_s([daily, new], 14 * DAY_S, 14, 14, 1, s) for s in (0.0, 1.0))
    assert told == pytest.approx(0.5 * HOUR_S)
    assert alone >= told


def test_without_postings_to_judge_there_is_no_delay():
    assert math.isnan(mean_delay_of_rate_window_s([np.array([0.0])], DAY_S, 3, 1, 1.0))
