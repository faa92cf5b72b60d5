"""The root of a falling function of one number, when each evaluation is a pass over millions of objects."""

import math
from collections.abc import Callable
from typing import NamedTuple

EVALUATIONS = 400
"""More than any bracket needs to shrink to neighbouring floats."""


class Root(NamedTuple):
    """The zero of a falling function: between `low` and `high`, which are equal if it was found within tolerance.

    Where they differ no float lies between them; `low_value` > 0 > `high_value` are what the function is there.
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
) -> Root:
    """Secant steps from the guess, or a second one, none of which leaves the bracket; bisection wherever they are slow.

    `slope` < 0 is that of the first step. The root must not lie above `most`. The last call of `function` is at `high`.
    """
    low, high = -math.inf, math.inf
    low_value, high_value = math.inf, -math.inf
    x, before, value_before = min(guess, most), math.nan, math.nan
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
        before, value_before = x, value
        x = second_guess if evaluation == 1 and second_guess is not None else x - value / slope
        if x == before:
            x += math.copysign(4.0 * math.ulp(before), value)
        x = min(x, most)
        width = high - low
        slow = width > 0.5 * widths[0]
        widths = [*widths[1:], width]
        if math.isfinite(width):
            middle = low + 0.5 * width
            if not low < middle < high:
                break
            if slow or not low < x < high:
                x = middle
        elif x == before:  # at `most`
            break
    if math.isinf(high):  # but for a rounding error the root is there
        return Root(low, low, low_value, low_value)
    if before != high:
        function(high)
    return Root(low, high, low_value, high_value)
