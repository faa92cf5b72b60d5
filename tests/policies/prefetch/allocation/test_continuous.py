"""What the papers print, and what every allocation must keep to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.table import ALLOCATIONS, OBJECTIVES

FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]
every_allocation = pytest.mark.parametrize("name", sorted(ALLOCATIONS))


def test_table_four_of_the_paper() -> None:
    assert continuous.freshness(FIVE, None, 5.0).round(2).tolist() == [1.15, 1.36, 1.35, 1.14, 0.00]
    # e1's is .835, printed as .84
    assert_allclose(continuous.age(FIVE, None, 5.0), [0.84, 0.97, 1.03, 1.07, 1.09], atol=0.0052)
    assert continuous.age(FIVE, None, 5.0)[0] == pytest.approx(0.835, abs=0.0005)


def test_table_five_of_the_paper() -> None:
    rates, weights = [1.0, 2.0, 3.0] * 2, [1.0] * 3 + [2.0] * 3
    assert continuous.freshness(rates, weights, 6.0).round(2).tolist() == [0.78, 0.76, 0.00, 1.28, 1.56, 1.62]
    assert_allclose(continuous.age(rates, weights, 6.0), [0.76, 0.88, 0.94, 0.99, 1.17, 1.26], atol=0.0052)


def test_table_seven_of_the_paper() -> None:
    # a hundred pages that change every 1, 7, 30, 120, 365 days, each refreshed once in 30 days on average
    rates = np.repeat(1.0 / np.array([1.0, 7.0, 30.0, 120.0, 365.0]), [23, 15, 15, 18, 29])
    weights = np.ones(100)

    def mean(measure: objectives.Measure, name: str) -> float:
        return weighted_mean(measure(rates, ALLOCATIONS[name](rates, weights, 100 / 30)), weights)

    found = [mean(objectives.freshness, name) for name in ("proportional", "uniform", "freshness")]
    assert found == pytest.approx([0.129, 0.575, 0.617], abs=0.0005)  # printed .12, .57, .62
    found = [mean(objectives.age, name) for name in ("proportional", "uniform", "age")]
    assert found == pytest.approx([400.97, 5.59, 4.28], abs=0.005)  # printed 400, 5.6, 4.3


def test_delay_is_divided_by_the_square_root_of_rate_and_weight() -> None:
    assert continuous.delay([1.0, 4.0, 9.0], [1.0, 1.0, 4.0], 18.0).tolist() == [2.0, 4.0, 12.0]


def test_uniform_and_proportional_of_example_3_1() -> None:
    assert continuous.uniform([4.0, 3.0, 2.0], None, 9.0).tolist() == [3.0, 3.0, 3.0]
    assert_allclose(continuous.proportional([4.0, 3.0, 2.0], None, 9.0), [4.0, 3.0, 2.0])


@every_allocation
def test_what_never_changes_or_has_no_weight_gets_nothing(name: str) -> None:
    shares = ALLOCATIONS[name]([0.0, 2.0, 1.0, 0.0], [1.0, 3.0, 0.0, 0.0], 5.0)
    assert shares.tolist() == [0.0, 5.0, 0.0, 0.0]
    assert ALLOCATIONS[name]([0.0, 1.0], [1.0, 0.0], 5.0).tolist() == [0.0, 0.0]


@every_allocation
@pytest.mark.parametrize(
    ("rates", "weights", "problem"),
    [
        ([1.0, -1.0], None, "row 1: the rate is -1.0, expected a number from 0 to 1e+290"),
        ([np.nan, 1.0], None, "row 0: the rate is nan, expected a number from 0 to 1e+290"),
        ([1.0, 1.0], [1.0, np.inf], "row 1: the weight is inf, expected a number from 0 to 1e+290"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_row(
    name: str, rates: list[float], weights: list[float] | None, problem: str
) -> None:
    with pytest.raises(RowError) as refused:
        ALLOCATIONS[name](rates, weights, 1.0)
    assert str(refused.value) == problem


@every_allocation
@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan, np.inf])
def test_a_budget_must_be_positive_and_finite(name: str, budget: float) -> None:
    with pytest.raises(ValueError, match="the budget is"):
        ALLOCATIONS[name]([1.0], None, budget)


numbers = st.one_of(st.just(0.0), st.floats(-12, 12).map(lambda exponent: 10.0**exponent))


@every_allocation
@settings(max_examples=40, deadline=None, derandomize=True)
@given(objects=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12), scale=st.floats(-6, 6))
def test_the_shares_add_up_to_the_budget_and_none_is_negative(
    name: str, objects: list[tuple[float, float]], scale: float
) -> None:
    rates, weights = np.array(objects).T
    budget = 10.0**scale * max(float(rates.sum()), 1e-9)
    shares = ALLOCATIONS[name](rates, weights, budget)
    assert np.isfinite(shares).all()
    assert (shares >= 0.0).all()
    assert float(shares.sum()) == pytest.approx(budget if (rates * weights > 0).any() else 0.0, rel=1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    objects=st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=8), scale=st.floats(-2, 2),
    name=st.sampled_from(sorted(OBJECTIVES)),
)
def test_no_allocation_beats_that_made_for_the_objective(
    objects: list[tuple[float, float]], scale: float, name: str
) -> None:
    rates, weights = 10.0 ** np.array(objects).T
    budget = 10.0**scale * float(rates.sum())
    objective = OBJECTIVES[name]
    sign = 1.0 if objective.greatest else -1.0
    best = sign * weighted_mean(objective.measure(rates, objective.allocate(rates, weights, budget)), weights)
    for allocate in ALLOCATIONS.values():
        other = sign * weighted_mean(objective.measure(rates, allocate(rates, weights, budget)), weights)
        assert best >= other - 1e-12 * abs(best)
