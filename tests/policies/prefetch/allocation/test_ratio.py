"""The universal curves, and their tables, beside their equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from bestbefore.policies.prefetch.allocation.cubics import CHUNK, Scratch
from bestbefore.policies.prefetch.allocation.ratio import (
    age_curve,
    age_gain,
    freshness_curve,
    log_ratio_of_age_gain,
    ratio_of_surprise,
    surprise,
)


def test_the_best_refreshed_object_of_the_freshness_curve_is_at_point_535() -> None:
    # at mu = 1: 1 - (1+r) e^-r = lambda, f = lambda / r
    def refreshes(rate: float) -> float:
        return rate / float(ratio_of_surprise(np.array([-np.log1p(-rate)]))[0])

    peak = minimize_scalar(lambda rate: -refreshes(rate), bounds=(0.1, 0.99), method="bounded", options={"xatol": 1e-9})
    assert (peak.x, -peak.fun) == pytest.approx((0.535, 0.298), abs=0.0005)


def test_the_ratio_gives_back_what_it_was_asked_for() -> None:
    r = 10.0 ** np.linspace(-12, 12, 500)
    assert_allclose(ratio_of_surprise(surprise(r)), r, rtol=1e-13)
    assert ratio_of_surprise(np.zeros(1)).tolist() == [0.0]
    r = 10.0 ** np.linspace(-20, 20, 500)
    assert_allclose(np.exp(log_ratio_of_age_gain(np.log(age_gain(r)))), r, rtol=1e-13)


def test_the_series_and_the_formulas_meet() -> None:
    for function, at in ((surprise, 0.05), (age_gain, 0.5)):
        below, above = function(np.array([at * (1 - 1e-12), at]))
        assert below == pytest.approx(above, rel=1e-11)


def test_the_tables_are_within_1e_12_of_the_curves() -> None:
    scratch, out = Scratch(), np.empty(CHUNK)
    q = np.random.default_rng(0).uniform(0, np.sqrt(80), CHUNK)
    freshness_curve().at(q, out, scratch)
    assert_allclose(out, q / ratio_of_surprise(q * q), rtol=1e-12)
    log_v = np.random.default_rng(1).uniform(-72, 72, CHUNK)
    age_curve().at(log_v, out, scratch)
    assert_allclose(out, log_ratio_of_age_gain(log_v), rtol=0, atol=1e-12)
