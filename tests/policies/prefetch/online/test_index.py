"""The waiting updates at a price, against the index itself."""

import math

import numpy as np
import pytest

from bestbefore.policies.prefetch.allocation.ratio import age_gain
from bestbefore.policies.prefetch.online.index import INDEXES, for_age, for_delay, for_freshness
from bestbefore.policies.prefetch.table import ALLOCATIONS

RATES = np.array([0.01, 0.2, 1.0, 30.0])
WEIGHTS = np.array([1.0, 5.0, 2.0, 40.0])


def test_the_index_is_the_price_when_so_many_updates_wait():
    x = for_freshness(RATES, WEIGHTS, np.full(4, 0.3))
    assert WEIGHTS / RATES * (1.0 - (1.0 + x) * np.exp(-x)) == pytest.approx(0.3)
    x = for_age(RATES, WEIGHTS, np.full(4, 7.0))
    assert WEIGHTS / RATES**2 * age_gain(x) == pytest.approx(7.0)
    x = for_delay(RATES, WEIGHTS, np.full(4, 7.0))
    assert WEIGHTS / RATES * x * x / 2.0 == pytest.approx(7.0)


@pytest.mark.parametrize("waiting", [for_freshness, for_age, for_delay])
def test_without_rate_or_weight_the_price_is_never_reached(waiting):
    assert waiting(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.full(2, 0.1)).tolist() == [math.inf, math.inf]


def test_what_changes_too_often_for_its_weight_is_never_fresh_enough():
    assert for_freshness(np.array([10.0]), np.array([1.0]), np.array([0.1])).tolist() == [math.inf]


def test_every_allocation_has_an_index():
    assert INDEXES.keys() == ALLOCATIONS.keys()
