"""Rates to come from recent postings: on paper, where the truth is known, and with bad input."""

import numpy as np
import pytest

from bestbefore.policies.models.rates.recent import RecentRates


def test_what_followed_is_what_is_expected():
    # Feeds without a posting in the window post once in ten hours, feeds with two post five times; half a posting is
    # added to the twelve, an eighth to each.
    learnt = RecentRates.fitted([[0], [0], [2], [2]], [1, 1, 5, 5], 10.0)
    assert learnt.always_per_hour == pytest.approx(0.1125, rel=1e-4)
    assert learnt.per_hour([[0], [2], [4]]) == pytest.approx([0.1125, 0.5125, 0.9125], rel=1e-4)


def test_the_total_is_kept():
    rng = np.random.default_rng(1)
    recent, hours = rng.poisson(3.0, (200, 3)), rng.uniform(1.0, 50.0, 200)
    followed = rng.poisson(2.0, 200)
    expected = RecentRates.fitted(recent, followed, hours).per_hour(recent) * hours
    assert np.sum(expected) == pytest.approx(np.sum(followed) + 0.5)


def test_each_window_has_the_weight_of_its_information():
    rng = np.random.default_rng(2)
    recent = rng.poisson((4.0, 1.0, 5.0), (20_000, 3))
    followed = rng.poisson((0.3 + recent @ (0.2, 0.7, 0.0)) * 2.0)
    learnt = RecentRates.fitted(recent, followed, 2.0)
    assert learnt.each_per_hour == pytest.approx([0.2, 0.7, 0.0], abs=0.02)


def test_rates_that_change_are_drawn_to_the_mean():
    rng = np.random.default_rng(3)
    before, after = rng.gamma(0.5, 4.0, 5000), rng.gamma(0.5, 4.0, 5000)  # independent: the past says nothing
    learnt = RecentRates.fitted(rng.poisson(before)[:, None], rng.poisson(after), 1.0)
    assert learnt.per_hour([[0], [10]]) == pytest.approx([2.0, 2.0], rel=0.15)


def test_where_nothing_followed_a_small_rate_remains():
    learnt = RecentRates.fitted([[0], [3]], [0, 0], 5.0)
    assert np.all(learnt.per_hour([[0], [3]]) > 0.0)
    assert np.sum(learnt.per_hour([[0], [3]])) * 5.0 == pytest.approx(0.5)


def test_a_window_without_postings_has_no_information():
    assert RecentRates.fitted([[0], [0]], [1, 3], 1.0).each_per_hour.tolist() == [0.0]


@pytest.mark.parametrize(
    ("recent", "followed", "hours"),
    [([[1], [2]], [1], 1.0), ([], [], 1.0), ([[1]], [-1], 1.0), ([[-1]], [1], 1.0), ([[1]], [1], 0.0),
     ([[np.nan]], [1], 1.0), ([[1]], [np.nan], 1.0), ([[1]], [1], np.inf)],
)
def test_what_cannot_be_is_refused(recent, followed, hours):
    with pytest.raises(ValueError, match="postings"):
        RecentRates.fitted(recent, followed, hours)
