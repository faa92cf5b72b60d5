"""Freshness, age and delay at regular intervals, beside the integrals they are and the values the papers print."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq

from bestbefore.policies.prefetch.allocation.objectives import age, delay, freshness, unsynchronised, weighted_mean

RATES = np.array([0.01, 0.3, 1.0, 4.0, 40.0])
REFRESHES = np.array([2.0, 3.0, 1.0, 0.5, 2.0])


def test_freshness_is_the_mean_of_the_chance_of_no_update_yet() -> None:
    pairs = zip(RATES, REFRESHES, strict=True)
    expected = [quad(lambda t, lam=lam: math.exp(-lam * t), 0, 1 / f)[0] * f for lam, f in pairs]
    assert_allclose(freshness(RATES, REFRESHES), expected, rtol=1e-12)


def test_age_is_the_mean_of_the_expected_time_since_the_first_update() -> None:
    expected = [
        quad(lambda t, lam=lam: t - (1 - math.exp(-lam * t)) / lam, 0, 1 / f, epsabs=1e-14)[0] * f
        for lam, f in zip(RATES, REFRESHES, strict=True)
    ]
    assert_allclose(age(RATES, REFRESHES), expected, rtol=1e-9)


def test_a_delay_is_half_an_interval_for_each_posting() -> None:
    assert delay(np.array([6.0]), np.array([3.0])).tolist() == [1.0]


def test_to_be_fresh_four_times_in_five_r_is_at_most_point_464() -> None:
    def lacking(r: float) -> float:
        return float(freshness(np.array([r]), np.ones(1))[0]) - 0.8

    assert brentq(lacking, 0.1, 1.0) == pytest.approx(0.464, abs=0.0005)


def test_refreshed_as_often_as_it_changes_an_object_is_fresh_for_63_percent_of_the_time() -> None:
    assert float(freshness(np.ones(1), np.ones(1))[0]) == pytest.approx((math.e - 1) / math.e)


def test_what_never_changes_is_fresh_and_what_is_never_refreshed_is_not() -> None:
    rates, refreshes = np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 0.0])
    assert freshness(rates, refreshes).tolist() == [1.0, 1.0, 0.0]
    assert age(rates, refreshes).tolist() == [0.0, 0.0, math.inf]
    assert delay(rates, refreshes).tolist() == [0.0, 0.0, math.inf]


def test_the_age_of_what_is_refreshed_much_more_often_than_it_changes_loses_no_digits() -> None:
    r = np.array([1e-9, 1e-4, 0.4999, 0.5001])
    # r^2/6 - r^3/24 + r^4/120
    assert_allclose(unsynchronised(r[:2]), r[:2]**2 / 6 - r[:2]**3 / 24, rtol=1e-8)
    assert float(np.diff(unsynchronised(r[2:]))[0]) == pytest.approx(0.0002 * (0.5 - (1 - 1.5 * math.exp(-0.5)) / 0.25))


def test_the_mean_is_weighted_and_leaves_out_what_has_no_weight() -> None:
    assert weighted_mean(np.array([1.0, 4.0, math.inf]), np.array([1.0, 2.0, 0.0])) == 3.0
    assert weighted_mean(np.array([1.0, math.inf]), np.array([1.0, 2.0])) == math.inf
    assert weighted_mean(np.array([1.0, 3.0]), np.array([1e308, 1e308])) == 2.0


def test_without_any_weight_there_is_no_mean() -> None:
    with pytest.raises(ValueError, match="no object has a weight above 0"):
        weighted_mean(np.ones(2), np.zeros(2))
