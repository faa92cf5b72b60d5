"""The daily pattern as a text plot: how often an object changes in each hour."""

import math
from collections.abc import Iterator, Sequence

HEIGHT = 6
_LABELLED = 6
"""The interval between the hours that are labelled below the plot."""


def pattern_plot(rates_per_hour: Sequence[float]) -> Iterator[str]:
    """Columns of two characters for each hour, scaled to the highest, which is named; below 0.5 of a line it is a dot.

    `rates_per_hour`: (24,) updates per hour, at least one of them above 0.
    """
    highest = max(rates_per_hour)
    levels = [rate / highest * HEIGHT for rate in rates_per_hour]
    for line in range(HEIGHT, 0, -1):
        scale = _scale(highest) if line == HEIGHT else ""
        columns = (_mark(level, line) for level in levels)
        yield f"{scale:>8} |{''.join(columns)}".rstrip()
    yield f"{0:>8} +{'-' * (2 * len(levels))}"
    hours = (f"{hour:02}" if hour % _LABELLED == 0 else "  " for hour in range(len(levels)))
    yield f"{'':>10}{''.join(hours)}".rstrip()


def _scale(per_hour: float) -> str:
    """Format a rate in a unit in which it is at least one, if a week is enough for that."""
    for factor, unit in ((1.0, "h"), (24.0, "day")):
        if per_hour * factor >= 1.0:
            return f"{per_hour * factor:.3g}/{unit}"
    return f"{per_hour * 168.0:.2g}/week"


def _mark(level: float, line: int) -> str:
    if math.floor(level + 0.5) >= line:
        return "##"
    return ".." if line == 1 and level > 0.0 else "  "
