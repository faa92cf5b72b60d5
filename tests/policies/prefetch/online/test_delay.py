"""The index of delay on paper, against theorem 1 in the long run, and at the end of a busy hour."""

import numpy as np
import pytest

from bestbefore.policies.prefetch.online.delay import DelayIndex
from bestbefore.policies.units import DAY_S, HOUR_S

EVENLY = np.full((1, 24), 1 / 24)


def test_of_a_constant_rate_the_index_is_the_rate_times_the_time_squared():
    retrieved_s = [0.0, -7 * HOUR_S, 0.5 * HOUR_S, 0.0]
    feeds = DelayIndex([2.0, 0.5, 1.0, 0.0], EVENLY.repeat(4, 0), retrieved_s, [1.0, 3.0, 1.0, 1.0])
    assert feeds.index(3 * HOUR_S) == pytest.approx([2.0 * 3.0**2, 3.0 * 0.5 * 10.0**2, 2.5**2, 0.0])
    assert feeds.index(2 * DAY_S + 90.0) == pytest.approx([2.0 * 48.025**2, 1.5 * 55.025**2, 47.525**2, 0.0])


def test_the_index_is_largest_once_the_postings_of_a_busy_hour_are_in():
    profile = np.zeros((1, 24))
    profile[0, 8:10] = 0.5
    feeds = DelayIndex([1 / 24], profile, [0.0])
    morning = {hour: feeds.index(hour * HOUR_S)[0] for hour in (8, 9, 10)}
    # Half of the one posting a day waits at nine, when 1/2 an hour comes in; at ten the whole, and nothing comes in.
    assert morning[8] == 0.0
    assert morning[9] == pytest.approx(0.5**2 / 0.5)
    assert morning[10] == pytest.approx(1.0**2 / (0.2 / 24))


def test_an_object_that_was_taken_waits_again():
    feeds = DelayIndex([1.0, 4.0, 9.0], EVENLY.repeat(3, 0), np.zeros(3))
    assert feeds.take(HOUR_S, 2).tolist() == [1, 2]
    assert feeds.index(HOUR_S).tolist() == [pytest.approx(1.0), 0.0, 0.0]
    assert feeds.take(HOUR_S, 0).tolist() == []
    assert feeds.take(HOUR_S, 9).tolist() == [0, 1, 2]


def test_in_the_long_run_retrievals_are_divided_by_the_root_of_rate_and_weight():
    rates, weights = np.array([0.1, 0.4, 1.6, 0.1]), np.array([1.0, 1.0, 1.0, 16.0])
    feeds = DelayIndex(rates, EVENLY.repeat(4, 0), np.zeros(4), weights)
    taken = np.concatenate([feeds.take(600.0 * (k + 1), 1) for k in range(9000)])
    shares = np.bincount(taken) / taken.size
    assert shares == pytest.approx(np.sqrt(rates * weights) / np.sum(np.sqrt(rates * weights)), rel=0.02)


def test_a_rate_may_be_replaced():
    feeds = DelayIndex([1.0, 1.0], EVENLY.repeat(2, 0), np.zeros(2))
    feeds.learn(np.array([0]), np.array([5.0]))
    assert feeds.index(HOUR_S) == pytest.approx([5.0, 1.0])


@pytest.mark.parametrize(
    ("rates", "profiles", "retrieved", "weights", "said"),
    [
        ([-1.0], EVENLY, [0.0], None, "feed 0 has rate -1.0"),
        ([1.0], EVENLY, [0.0], [np.nan], "feed 0 has weight nan"),
        ([1.0], EVENLY[:, :5], [0.0], None, "profiles"),
        ([1.0], EVENLY, [np.inf], None, "last retrieval"),
    ],
)
def test_what_cannot_be_is_refused(rates, profiles, retrieved, weights, said):
    with pytest.raises(ValueError, match=said):
        DelayIndex(rates, profiles, retrieved, weights)
