"""The root of a decreasing function whose evaluation is a pass over millions of objects."""

import math
from collections.abc import Callable
from typing import NamedTuple

EVALUATIONS = 400
"""The most evaluations, more than any bracket needs to shrink to neighbouring floats."""


class Root(NamedTuple):
    """The root of a decreasing function, in [low, high]; both are equal if the tolerance was reached.

    Otherwise no float lies between them, and the function has the values `low_value` > 0 > `high_value` there.
    """

    low: float
    high: float
    low_value: float
    high_value: float


def falling_root(
    function: Callable[[float], float],
    guess: float,
    slope: float,
    tolerance: float,
    most: float = math.inf,
    second_guess: float | None = None,
    least: float = -math.inf,
) -> Root:
    """Find the root by the secant method, with bisection where the secant is slow or leaves the bracket.

    Where the function hardly falls, steps double until the root is enclosed. The search begins at `guess`, takes the
    first step with `slope` < 0 or to `second_guess`, and ends at `most` at the latest, above which the root must not
    lie, nor below `least`. The last call of `function` is at `high`.
    """
    low, high = -math.inf, math.inf
    low_value, high_value = math.inf, -math.inf
    x, before, value_before = min(max(guess, least), most), math.nan, math.nan
    widths = [math.inf] * 3
    for evaluation in range(1, EVALUATIONS):
        value = function(x)
        if abs(value) <= tolerance:
            return Root(x, x, value, value)
        if value > 0.0:
            low, low_value = x, value
        else:
            high, high_value = x, value
        if math.isfinite(value_before) and x != before:
            secant = (value - value_before) / (x - before)
            slope = secant if secant < 0.0 else slope
        is_flat = math.isinf(high - low) and abs(value) > 0.5 * abs(value_before)
        least_step = 2.0 * abs(x - before) if is_flat else 0.0
        before, value_before = x, value
        x = second_guess if evaluation == 1 and second_guess is not None else x - value / slope
        x = min(max(_far_enough(x, before, value, least_step), least), most)
        width = high - low
        slow = width > 0.5 * widths[0]
        widths = [*widths[1:], width]
        if math.isfinite(width):
            middle = low + 0.5 * width
            if not low < middle < high:
                break
            if slow or not low < x < high:
                x = middle
        elif x == before:  # at `most` or `least`
            break
    if math.isinf(high):  # the root lies at `most`, up to rounding
        return Root(low, low, low_value, low_value)
    if before != high:
        function(high)
    return Root(low, high, low_value, high_value)


def _far_enough(x: float, before: float, value: float, least_step: float) -> float:
    """Return the next place to look at, with at least this step from the last one, and not the same."""
    least_step = max(least_step, 0.0 if x != before else 4.0 * math.ulp(before))
    return x if abs(x - before) >= least_step else before + math.copysign(least_step, value)
