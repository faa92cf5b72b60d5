import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.prefetch.allocation.bounded import within_bounds
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.table import OBJECTIVES

INFINITE = np.full(3, np.inf)


def test_what_a_bound_holds_back_goes_to_the_others_in_their_proportion() -> None:
    """Uniform, 12 among 3: the first may have 2, so the others share 10."""
    found = within_bounds(continuous.uniform, [1.0, 5.0, 9.0], None, 12.0, np.zeros(3), [2.0, np.inf, np.inf])
    assert_allclose(found, [2.0, 5.0, 5.0], rtol=1e-12)


def test_a_minimum_is_kept_and_the_rest_shared() -> None:
    """Proportional, 10 among 1 : 2 : 7, the first at least 4: 2 and 7 share 6."""
    found = within_bounds(continuous.proportional, [1.0, 2.0, 7.0], None, 10.0, [4.0, 0.0, 0.0], INFINITE)
    assert_allclose(found, [4.0, 6 * 2 / 9, 6 * 7 / 9], rtol=1e-12)


def test_without_bounds_that_hold_it_is_the_allocation() -> None:
    rates = [1.0, 2.0, 3.0]
    assert_allclose(
        within_bounds(continuous.freshness, rates, None, 5.0, np.zeros(3), INFINITE),
        continuous.freshness(rates, None, 5.0),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", ["freshness", "age"])
def test_a_general_solver_finds_nothing_better(name: str) -> None:
    rng = np.random.default_rng(1)
    measure, sign = OBJECTIVES[name].measure, -1.0 if name == "freshness" else 1.0
    for _ in range(15):
        n = 4
        rates, weights = np.exp(rng.normal(0, 1, n)), rng.uniform(0.2, 2, n)
        least = rng.uniform(0.05, 0.5, n)
        most = least + rng.uniform(0.2, 2, n)
        budget = 0.5 * float(least.sum() + most.sum())
        found = within_bounds(OBJECTIVES[name].allocate, rates, weights, budget, least, most)
        assert ((found >= least) & (found <= most)).all()
        assert found.sum() == pytest.approx(budget, rel=1e-9)
        solved = minimize(
            lambda f, r=rates, w=weights: sign * float((w * measure(r, f)).sum()),
            np.clip(found * rng.uniform(0.8, 1.2, n), least, most),
            bounds=list(zip(least, most, strict=True)),
            constraints={"type": "eq", "fun": lambda f, b=budget: f.sum() - b},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert sign * float((weights * measure(rates, found)).sum()) <= solved.fun + 1e-7


def test_an_object_that_never_changes_or_has_no_weight_gets_its_minimum() -> None:
    found = within_bounds(continuous.age, [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], 5.0, [0.5, 0.25, 0.0], INFINITE)
    assert_allclose(found, [0.5, 0.25, 4.25], rtol=1e-12)


def test_where_all_have_their_maximum_the_rest_is_not_spent() -> None:
    found = within_bounds(continuous.freshness, [1.0, 2.0], None, 50.0, [0.0, 0.0], [3.0, 4.0])
    assert found.tolist() == [3.0, 4.0]


def test_a_budget_of_the_minimums_buys_them() -> None:
    assert within_bounds(continuous.age, [1.0, 2.0], None, 3.0, [1.0, 2.0], [9.0, 9.0]).tolist() == [1.0, 2.0]


def test_minimums_that_add_up_to_the_budget_but_for_rounding_are_bought() -> None:
    assert 0.1 + 0.1 + 0.1 > 0.3
    found = within_bounds(continuous.freshness, [1.0, 2.0, 3.0], None, 0.3, [0.1] * 3, [np.inf] * 3)
    assert found.tolist() == [0.1] * 3


def test_an_object_that_is_given_up_gets_its_minimum() -> None:
    """Without bounds the object with 50 updates gets nothing of 2 contacts."""
    found = within_bounds(continuous.freshness, [1.0, 50.0], None, 2.0, [0.0, 0.5], [np.inf, np.inf])
    assert_allclose(found, [1.5, 0.5], rtol=1e-9)
    assert objectives.freshness(np.array([50.0]), found[1:])[0] > 0.0


def test_a_budget_below_the_minimums_is_refused() -> None:
    with pytest.raises(ValueError, match="the budget is 2, but the minimums add up to 3"):
        within_bounds(continuous.age, [1.0, 2.0], None, 2.0, [1.0, 2.0], [9.0, 9.0])


@pytest.mark.parametrize(("least", "most", "row"), [
    ([0.0, 2.0], [1.0, 1.0], 1), ([-1.0, 0.0], [1.0, 1.0], 0), ([0.0, np.nan], [1.0, 1.0], 1), ([0, 0], [1, np.nan], 1),
])
def test_impossible_bounds_are_refused_by_row(least: list[float], most: list[float], row: int) -> None:
    with pytest.raises(RowError) as caught:
        within_bounds(continuous.age, [1.0, 1.0], None, 2.0, least, most)
    assert caught.value.row == row


def test_bounds_are_as_many_as_objects() -> None:
    with pytest.raises(ValueError, match="2 rates, 1 minimums, 2 maximums"):
        within_bounds(continuous.age, [1.0, 1.0], None, 2.0, [0.0], [1.0, 1.0])
