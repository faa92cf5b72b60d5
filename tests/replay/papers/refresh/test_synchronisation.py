"""Table II of `refresh`: closed forms against printed values, integration and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.papers.refresh.synchronisation import Order, age, freshness, simulate, waits

ORDERS = tuple(Order)


def averaged(order, ratio, integrand):
    """The integrand over [0, w], averaged over the law of w by 20,000 midpoints."""
    if order is Order.FIXED:
        return integrand(1.0)
    w = (np.arange(20_000) + 0.5) / 20_000 * (2.0 if order is Order.RANDOM else 40.0)
    density = np.minimum(w, 2.0 - w) if order is Order.RANDOM else np.exp(-w)
    return float(np.sum(density * integrand(w)) / np.sum(density))


def test_at_equal_rates_the_values_are_those_printed():
    assert [round(freshness(order, 1.0), 2) for order in ORDERS] == [0.63, 0.60, 0.50]
    assert [round(age(order, 1.0), 3) for order in ORDERS] == [0.132, 0.184, 0.5]


def test_fixed_order_at_a_ratio_of_046_has_a_freshness_of_08():
    assert freshness(Order.FIXED, 0.4642) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [1e-3, 0.3, 0.499, 0.501, 2.0, 30.0])
def test_closed_forms_are_the_integrals_of_equations_4_and_5(order, ratio):
    def fresh(w):
        return -np.expm1(-ratio * w) / ratio

    def aged(w):
        return w**2 / 2 - w / ratio + -np.expm1(-ratio * w) / ratio**2

    assert freshness(order, ratio) == pytest.approx(averaged(order, ratio, fresh), rel=1e-5)
    assert age(order, ratio) == pytest.approx(averaged(order, ratio, aged), rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("order", ORDERS)
def test_the_closed_form_and_the_series_meet(order):
    below, above = math.nextafter(0.5, 0.0), 0.5
    assert freshness(order, below) == pytest.approx(freshness(order, above), rel=1e-14)
    assert age(order, below) == pytest.approx(age(order, above), rel=1e-13)


@given(st.floats(0.0, 1e12), st.floats(1e-6, 1e6))
@settings(max_examples=100, derandomize=True)
def test_more_changes_make_less_fresh_and_older_and_fixed_order_is_best(ratio, more):
    for order in ORDERS:
        assert 0.0 <= freshness(order, ratio + more) <= freshness(order, ratio) <= 1.0
        assert age(order, ratio + more) >= age(order, ratio) >= 0.0
    best_to_worst = [Order.FIXED, Order.RANDOM, Order.PURELY_RANDOM]
    assert [freshness(o, more) for o in best_to_worst] == sorted((freshness(o, more) for o in ORDERS), reverse=True)
    assert [age(o, more) for o in best_to_worst] == sorted(age(o, more) for o in ORDERS)


@pytest.mark.parametrize("order", ORDERS)
def test_what_never_changes_is_fresh_and_what_always_changes_is_as_old_as_it_can_be(order):
    assert freshness(order, 0.0) == 1.0
    assert age(order, 0.0) == 0.0
    assert freshness(order, math.inf) == 0.0
    # Half of E[W^2] / E[W].
    half_mean_square = {Order.FIXED: 1 / 2, Order.RANDOM: 7 / 12, Order.PURELY_RANDOM: 1.0}
    assert age(order, math.inf) == pytest.approx(half_mean_square[order])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [0.2, 1.0, 5.0])
def test_a_simulation_agrees_within_four_standard_errors(order, ratio):
    simulated = simulate(order, ratio, elements=1000, sweeps=400, rng=np.random.default_rng(11))
    assert abs(simulated.freshness - freshness(order, ratio)) < 4 * simulated.freshness_error
    assert abs(simulated.age - age(order, ratio)) < 4 * simulated.age_error
    assert simulated.freshness_error < 0.01
    assert simulated.age_error < 0.01


@pytest.mark.parametrize("order", ORDERS)
def test_a_short_run_is_no_younger_than_a_long_one(order):
    """Observed from the first synchronisation to the last alone, the purely random order would lack its long times."""
    simulated = simulate(order, 20.0, elements=50_000, sweeps=8, rng=np.random.default_rng(12))
    assert abs(simulated.freshness - freshness(order, 20.0)) < 4 * simulated.freshness_error
    assert abs(simulated.age - age(order, 20.0)) < 4 * simulated.age_error
    assert simulated.age_error < 0.01


@pytest.mark.parametrize("order", ORDERS)
def test_the_times_between_synchronisations_of_an_element_fill_the_run(order):
    element, since, wait = waits(order, 6, 40, np.random.default_rng(5))
    assert element.size == 240
    assert np.bincount(element, wait) == pytest.approx([40.0] * 6)
    for number in range(6):
        own = since[element == number]
        assert np.append(own[1:], own[0] + 40.0) - own == pytest.approx(wait[element == number])


@pytest.mark.parametrize("order", [Order.FIXED, Order.RANDOM])
def test_each_element_comes_once_in_a_sweep(order):
    element, since, _ = waits(order, 6, 4, np.random.default_rng(5))
    sweeps = [sorted(element[np.floor(since + 1e-9) == sweep].tolist()) for sweep in range(4)]
    assert sweeps == [list(range(6))] * 4


def test_the_same_seed_gives_the_same_simulation():
    first, second = (simulate(Order.RANDOM, 1.0, 50, 20, np.random.default_rng(3)) for _ in range(2))
    assert first == second


def test_without_changes_a_simulated_database_is_fresh():
    simulated = simulate(Order.FIXED, 0.0, 10, 10, np.random.default_rng(3))
    assert (simulated.freshness, simulated.age) == (1.0, 0.0)


@pytest.mark.parametrize("ratio", [-1.0, math.nan])
def test_a_bad_ratio_is_refused(ratio):
    with pytest.raises(ValueError, match="expected 0 or more"):
        freshness(Order.FIXED, ratio)
    with pytest.raises(ValueError, match="expected 0 or more"):
        age(Order.FIXED, ratio)
