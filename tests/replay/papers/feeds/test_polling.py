"""Delays of postings under retrievals: on paper, against brute force, and for policies that decide from contact to
contact."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.baselines.fixed import Fixed
from bestbefore.policies.validation.baselines.miniflux import Miniflux
from bestbefore.policies.validation.baselines.never import Never
from bestbefore.policies.validation.baselines.nutch import Nutch
from bestbefore.replay.papers.feeds.polling import Listed, Measured, Postings, Recurrent, Spaced, policy_retrievals_s


def postings(*feeds):
    return Postings.of([np.array(times, dtype=np.float64) for times in feeds])


def test_a_posting_waits_for_the_first_retrieval_at_or_after_it():
    # Figure 2 of the paper: five postings and two retrievals; the third comes after both.
    schedules = Listed([np.array([30.0, 60.0]), np.array([])])
    delays = schedules.delays_s(postings([10, 30, 40, 50, 61], [5]))
    assert delays.tolist() == [20.0, 0.0, 20.0, 10.0, math.inf, math.inf]
    assert schedules.retrievals(30.0, 60.0).tolist() == [1, 0]


def test_spacing_goes_on_for_ever_both_ways():
    schedules = Spaced(np.array([100.0, 0.0]), np.array([30.0, math.inf]))
    assert schedules.delays_s(postings([5, 10, 11, 130, 131], [3])).tolist() == [5.0, 0.0, 29.0, 0.0, 29.0, math.inf]
    assert schedules.retrievals(10.0, 100.0).tolist() == [3, 0]
    assert schedules.retrievals(11.0, 101.0).tolist() == [3, 0]


def test_points_recur_in_every_period():
    schedules = Recurrent([np.array([6.0, 18.0]), np.array([])], 24.0)
    assert schedules.delays_s(postings([6, 7, 24 + 19], [1])).tolist() == [0.0, 11.0, 11.0, math.inf]
    assert schedules.retrievals(7.0, 24 + 18.0).tolist() == [2, 0]
    assert schedules.retrievals(6.0, 24 + 19.0).tolist() == [4, 0]


def test_a_posting_at_a_retrieval_does_not_wait_for_the_next_by_rounding():
    schedules = Spaced(np.array([0.1]), np.array([0.3]))
    assert schedules.delays_s(postings([0.1 + 0.3 * k for k in range(1000)])).max() < 0.3


moments = st.lists(st.integers(0, 400).map(lambda x: x / 4), min_size=0, max_size=12)


@given(st.lists(st.tuples(moments, moments), min_size=1, max_size=4), st.integers(0, 100), st.integers(1, 100))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_every_schedule_does_what_brute_force_does(feeds, start, length):
    posted = postings(*(sorted(times) for times, _ in feeds))
    listed = [np.unique(times) for _, times in feeds]
    points = [times[times < 25.0] for times in listed]
    first = np.array([times[0] if times.size else 0.0 for times in listed])
    spacing = np.array([1.0 + times.size for times in listed])
    unrolled = [np.concatenate([own + 25.0 * k for k in range(10)]) for own in points]
    even = [one + gap * np.arange(-200, 300) for one, gap in zip(first, spacing, strict=True)]
    for schedules, all_moments in (
        (Listed(listed), listed), (Recurrent(points, 25.0), unrolled), (Spaced(first, spacing), even)
    ):
        expected = [
            min((moment - t for moment in all_moments[feed] if moment >= t), default=math.inf)
            for t, feed in zip(posted.times_s, posted.feeds, strict=True)
        ]
        assert schedules.delays_s(posted).tolist() == expected
        counted = [sum(start <= moment < start + length for moment in own) for own in all_moments]
        assert schedules.retrievals(start, start + length).tolist() == counted


def test_a_policy_is_asked_after_each_retrieval_until_the_end():
    history = History.of([], 0.0)
    assert policy_retrievals_s(Fixed(100.0), history, 50.0, 300.0, 1.0).tolist() == [50.0, 150.0, 250.0, 350.0]
    assert policy_retrievals_s(Fixed(0.0), history, 0.0, 3.0, 1.0).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert policy_retrievals_s(Never(), history, 7.0, 300.0, 1.0).tolist() == [7.0]


def test_miniflux_polls_as_often_as_the_week_before_had_postings():
    history = History.of([DAY_S * k / 2 for k in range(14)], 0.0)  # the week has 14, then nothing
    retrievals = policy_retrievals_s(Miniflux(), history, 7 * DAY_S - 1.0, 13 * DAY_S, 60.0)
    assert np.diff(retrievals[:2]).tolist() == [DAY_S / 2]
    assert np.diff(retrievals[-2:]) > 0.9 * DAY_S
    assert np.diff(retrievals).max() <= DAY_S


def test_nutch_gets_the_outcome_of_its_retrieval():
    history = History.of([150.0, 180.0], 0.0)
    nutch = Nutch(initial_s=100.0, sync=0.0)
    # 100 later: changed, 80; unchanged, 112; unchanged, 156.8
    found = policy_retrievals_s(nutch, history, 100.0, 500.0, 1.0)
    assert found == pytest.approx([100.0, 200.0, 280.0, 392.0, 548.8])


def test_what_is_measured_is_per_posting_and_per_feed():
    schedules = Listed([np.array([10.0, 50.0]), np.array([40.0]), np.array([])])
    judged = postings([20, 40], [35], [90])
    found = Measured.of(schedules, judged, 3, 0.0, 100.0)
    # 30, 10, 5, and 10 until the end for the one never retrieved
    assert found.mean_s == pytest.approx(55 / 4)
    assert found.mean_of_feeds_s == pytest.approx((20 + 5 + 10) / 3)
    assert found.deviation_s == pytest.approx(np.std([30, 10, 5, 10]))
    assert (found.max_s, found.never) == (30.0, 1)
    assert found.retrievals_per_day == pytest.approx(3 / 3 / (100 / DAY_S))


def test_without_postings_there_is_no_delay():
    found = Measured.of(Spaced(np.zeros(1), np.full(1, HOUR_S)), postings([]), 1, 0.0, DAY_S)
    assert math.isnan(found.mean_s)
    assert found.retrievals_per_day == 24.0


def test_postings_keep_their_feeds_when_some_are_left_out():
    kept = postings([1, 5], [], [2, 9]).between(2.0, 9.0)
    assert kept.times_s.tolist() == [5.0, 2.0]
    assert kept.feeds.tolist() == [0, 2]
