import re

import numpy as np
import pytest

from bestbefore.policies.prefetch.checked import RowError, checked, checked_bounds, checked_budget, checked_numbers


def test_whole_numbers_and_lists_become_floats_in_a_row() -> None:
    rates, weights = checked([1, 2], np.array([[3, 4], [5, 6]])[:, 0])
    assert rates.dtype == weights.dtype == np.float64
    assert weights.flags.c_contiguous
    assert weights.tolist() == [3.0, 5.0]


def test_without_weights_each_is_one() -> None:
    assert checked([3.0, 0.0])[1].tolist() == [1.0, 1.0]


def test_the_first_wrong_row_is_named_and_kept_as_a_number() -> None:
    with pytest.raises(RowError) as refused:
        checked_numbers([0.0, 1.0, -np.inf, np.nan], "the size")
    assert (refused.value.row, refused.value.problem) == (2, "the size is -inf, expected a number from 0 to 1e+290")


def test_numbers_whose_sums_would_overflow_are_refused() -> None:
    assert checked_numbers([1e290], "the rate").tolist() == [1e290]
    with pytest.raises(RowError, match=re.escape("row 1: the rate is 1e+291")):
        checked_numbers([1.0, 1e291], "the rate")
    for budget in (1e-291, 1e291):
        with pytest.raises(ValueError, match="the budget is"):
            checked_budget(budget)


def test_rates_and_weights_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="2 rates but 3 weights"):
        checked([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=re.escape("got an array of shape (1, 2)")):
        checked([[1.0, 2.0]])


def test_a_budget_that_can_be_spent_is_given_back() -> None:
    assert checked_budget(3) == 3.0


def test_bounds_may_be_given_once_for_all() -> None:
    least, most = checked_bounds(0, [2, 3], 2)
    assert least.tolist() == [0, 0]
    assert most.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("least", "most", "problem"),
    [
        ([0, 3], [1, 2], "row 1: the least number of visits, 3, exceeds the largest, 2"),
        ([0, -1], 5, "row 1: the least number of visits is -1, expected a whole number from 0 to 4.6e+18"),
        (0, [1.5, 2], "row 0: the largest number of visits is 1.5, expected a whole number from 0 to 4.6e+18"),
        (0, [1, np.nan], "row 1: the largest number of visits is nan, expected a whole number from 0 to 4.6e+18"),
    ],
)
def test_bounds_that_cannot_be_are_refused_by_their_row(least: object, most: object, problem: str) -> None:
    with pytest.raises(RowError) as refused:
        checked_bounds(least, most, 2)  # type: ignore[arg-type]
    assert str(refused.value) == problem


def test_bounds_must_be_as_many_as_the_objects() -> None:
    with pytest.raises(ValueError, match="expected one number for all or 2"):
        checked_bounds([0, 0, 0], 1, 2)
