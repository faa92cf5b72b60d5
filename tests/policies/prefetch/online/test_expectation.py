"""Prices for a budget, and what they bring, against the allocations and their measures."""

import math

import numpy as np
import pytest

from bestbefore.policies.prefetch.allocation.objectives import age, delay, freshness
from bestbefore.policies.prefetch.online.estimate import Columns, Estimates, ScheduleEstimate
from bestbefore.policies.prefetch.online.expectation import (
    cost_per_hour,
    expected,
    log_price_for_budget,
    log_price_for_target,
)
from bestbefore.policies.prefetch.online.index import INDEXES
from bestbefore.policies.prefetch.table import ALLOCATIONS

RATES = np.random.default_rng(1).lognormal(-3.0, 1.5, 300).astype(np.float32).astype(np.float64)
WEIGHTS = (1.0 / np.arange(1, 301)).astype(np.float32).astype(np.float64)


def columns(**limits: float) -> Columns:
    made = Columns()
    made.reserve(RATES.size)
    each = zip(RATES.tolist(), WEIGHTS.tolist(), strict=True)
    estimates = [ScheduleEstimate(rate, 0.0, weight, **{"shortest_s": 1.0, **limits}) for rate, weight in each]
    made.set(np.arange(RATES.size), Estimates.of(estimates))
    return made


@pytest.mark.parametrize("objective", INDEXES)
def test_the_price_for_a_budget_brings_what_the_allocation_does(objective):
    made, index = columns(), INDEXES[objective]
    brought = expected(made, index, log_price_for_budget(made, index, 6.0, 0.0))
    best = ALLOCATIONS[objective](RATES, WEIGHTS, 6.0)
    assert brought.cost_per_hour == pytest.approx(6.0, rel=2e-4)
    assert brought.freshness == pytest.approx(float(WEIGHTS @ freshness(RATES, best) / WEIGHTS.sum()), rel=1e-3)
    assert brought.age_s / 3600 == pytest.approx(float(WEIGHTS @ age(RATES, best) / WEIGHTS.sum()), rel=2e-3)
    delays = float(WEIGHTS @ delay(RATES, best) / (WEIGHTS @ RATES))
    assert brought.delay_s / 3600 == pytest.approx(delays, rel=2e-3)


def test_limits_hold_at_any_price():
    made, index = columns(shortest_s=7200.0, longest_s=36_000.0), INDEXES["delay"]
    assert cost_per_hour(made, index, 150.0) == pytest.approx(30.0)
    assert cost_per_hour(made, index, -150.0) == pytest.approx(150.0)
    for budget in (1.0, 1000.0):  # less and more than the limits allow: the nearest price
        assert math.isfinite(log_price_for_budget(made, index, budget, 0.0))


def test_nothing_is_expected_of_no_objects():
    brought = expected(Columns(), INDEXES["delay"], 0.0)
    assert (brought.cost_per_hour, brought.freshness, brought.age_s, brought.delay_s) == (0.0, 1.0, 0.0, 0.0)


@pytest.mark.parametrize(("objective", "measure", "value"), [
    ("freshness", "freshness", 0.8), ("delay", "delay", 7200.0), ("age", "age", 600.0),
])  # fmt: skip
def test_the_price_for_a_target_brings_it(objective, measure, value):
    made, index = columns(), INDEXES[objective]
    log_price = log_price_for_target(made, index, measure, value, 0.0)
    assert expected(made, index, log_price).value(measure) == pytest.approx(value, rel=2e-4)


def test_costs_and_thetas_count():
    made, index = columns(cost=100.0, theta=0.5), INDEXES["delay"]
    assert cost_per_hour(made, index, 3.0) == pytest.approx(100.0 * RATES.sum() / 0.5)
