"""The place of an object on the curve, beside the equation that it solves."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.prefetch.allocation.cubics import Scratch
from bestbefore.policies.prefetch.allocation.curves import AgeCurve, AllocationCurve, FreshnessCurve
from bestbefore.policies.units import FloatArray

RATES = np.array([1.0, 2.0, 5.0, 1e-3, 40.0])
WEIGHTS = np.array([2.0, 1.0, 1.0, 1e-3, 7.0])


def refreshes(curve: AllocationCurve, x: float) -> FloatArray:
    keys, out = np.empty(5), np.empty(5)
    curve.keys(RATES, WEIGHTS, keys)
    curve.refreshes(RATES, keys, x, out, Scratch())
    return out


@pytest.mark.parametrize("y", [1e-14, 0.01, 0.3, 0.9999])
def test_the_freshness_gained_by_one_more_refresh_is_the_multiplier(y: float) -> None:
    curve = FreshnessCurve(0.5)
    f = refreshes(curve, math.log(-math.log1p(-y)))
    multiplier = y / 0.5
    kept = f > 0
    assert (~kept == (multiplier * RATES / WEIGHTS >= 1)).all()
    r = RATES[kept] / f[kept]
    gained = np.where(r < 1e-3, r * r / 2 - r**3 / 3, 1 - (1 + r) * np.exp(-r))
    assert_allclose(WEIGHTS[kept] / RATES[kept] * gained, multiplier, rtol=1e-8)


def test_the_edge_lies_in_the_bin_beyond_which_no_object_is_refreshed() -> None:
    curve, x = FreshnessCurve(0.5), math.log(0.2)
    edge = 0.5 * (1 + 1 / math.expm1(0.2))
    assert curve.edge_bin(x) == int(curve.bins(np.array([edge]))[0])
    keys, out = np.array([edge * 0.999, edge * 1.001]), np.empty(2)
    curve.refreshes(np.ones(2), keys, x, out, Scratch())
    assert out[0] > 0.0
    assert out[1] == 0.0


@pytest.mark.parametrize("x", [-150.0, -80.0, -3.0, 4.0, 80.0, 150.0])
def test_the_age_lost_by_one_more_refresh_is_the_multiplier_also_beyond_the_table(x: float) -> None:
    f = refreshes(AgeCurve(), x)
    r = RATES / f
    lost = np.where(r < 1e-3, r**3 / 3 - r**4 / 8, r * r / 2 - 1 + (1 + r) * np.exp(-r))
    assert_allclose(np.log(WEIGHTS / RATES**2 * lost), x, rtol=0, atol=1e-6)


def test_bins_rise_with_the_keys() -> None:
    keys = np.sort(np.exp(np.random.default_rng(0).normal(0, 50, 1000)))
    assert (np.diff(FreshnessCurve.bins(keys)) >= 0).all()
    assert (np.diff(AgeCurve.bins(np.log(keys))) >= 0).all()
