"""Checks of the input of a plan. An error has the row number, from which a command finds the line of its input file."""

from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestbefore.policies.units import FloatArray

IntArray = NDArray[np.int64]
"""Numbers of visits, 64 bits on all platforms; object indices are `units.IntArray`."""
MOST = 1e290
"""Larger rates, weights and budgets are refused: their sums and quotients would overflow."""


class RowError(ValueError):
    """An invalid value in the input of a plan; `row` is its index, from 0."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(f"row {row}: {problem}")
        self.row = row
        self.problem = problem


def checked_numbers(values: ArrayLike, what: str) -> FloatArray:
    """Return the values as (n,) float64; raise a `RowError` for the first that is not from 0 to `MOST`.

    `what` names a value in the message, e.g. "the rate".
    """
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{what}: expected one number a row, got an array of shape {numbers.shape}")
    # min and max propagate NaN, and allocate no array of n results
    if len(numbers) and not (numbers.min() >= 0.0 and numbers.max() <= MOST):
        wrong = ~((numbers >= 0.0) & (numbers <= MOST))
        _refuse_first(wrong, numbers, f"{what} is {{}}, expected a number from 0 to {MOST:g}")
    return numbers


def checked(rates: ArrayLike, weights: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    """Return rates and weights as (n,) float64; without weights each weight is 1.

    Raises a `RowError` for the first rate, then the first weight, that is negative, infinite or not a number, and a
    ValueError where their numbers differ.
    """
    checked_rates = checked_numbers(rates, "the rate")
    if weights is None:
        return checked_rates, np.ones(len(checked_rates))
    checked_weights = checked_numbers(weights, "the weight")
    if len(checked_rates) != len(checked_weights):
        raise ValueError(f"{len(checked_rates)} rates but {len(checked_weights)} weights, expected as many")
    return checked_rates, checked_weights


def checked_budget(budget: float) -> float:
    """Return the budget, contacts per period; ValueError unless it lies between 1 / `MOST` and `MOST`."""
    if not 1.0 / MOST <= budget <= MOST:
        raise ValueError(f"the budget is {budget}, expected a positive number of contacts per period, to {MOST:g}")
    return float(budget)


def checked_bounds(minimum: ArrayLike, maximum: ArrayLike, n: int) -> tuple[IntArray, IntArray]:
    """Return m and M, each (n,) whole numbers with 0 <= m_i <= M_i, from one number for all objects or one for each.

    Raises a `RowError` for the first row in which a bound is negative or not whole, or m_i exceeds M_i.
    """
    least = _whole(minimum, n, "the least number of visits")
    most = _whole(maximum, n, "the largest number of visits")
    over = least > most
    if over.any():
        row = int(over.argmax())
        raise RowError(row, f"the least number of visits, {least[row]}, exceeds the largest, {most[row]}")
    return least, most


def _whole(values: ArrayLike, n: int, what: str) -> IntArray:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim > 1 or (numbers.ndim == 1 and len(numbers) != n):
        raise ValueError(f"{what}: expected one number for all or {n}, got an array of shape {numbers.shape}")
    numbers = np.broadcast_to(numbers, (n,))
    wrong = ~(np.isfinite(numbers) & (numbers >= 0.0) & (numbers == np.floor(numbers)) & (numbers < 2.0**62))
    if wrong.any():
        _refuse_first(wrong, numbers, f"{what} is {{:g}}, expected a whole number from 0 to {2.0**62:.1e}")
    return numbers.astype(np.int64)


def _refuse_first(wrong: NDArray[np.bool_], numbers: FloatArray, message: str) -> NoReturn:
    row = int(wrong.argmax())
    raise RowError(row, message.format(numbers[row]))
