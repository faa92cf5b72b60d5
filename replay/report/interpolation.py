"""The interpolation of curves through points."""

import math
from collections.abc import Sequence
from itertools import pairwise


def crossing(xy: Sequence[tuple[float, float]], x: float) -> float | None:
    """The least y at x on the curve through these points, by log-log interpolation; None outside its range.

    The curves of these policies are nearly straight in logarithms. Points with a coordinate that is not positive are
    ignored.

    >>> crossing([(1.0, 100.0), (4.0, 25.0)], 2.0), crossing([(1.0, 100.0)], 2.0)
    (50.0, None)
    """
    positive = [point for point in xy if min(point) > 0.0]
    found = []
    for (x0, y0), (x1, y1) in pairwise(positive):
        if min(x0, x1) <= x <= max(x0, x1):
            share = 0.0 if x0 == x1 else math.log(x / x0) / math.log(x1 / x0)
            found.append(min(y0, y1) if x0 == x1 else y0 * (y1 / y0) ** share)
    return min(found, default=None)
