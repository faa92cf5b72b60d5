"""The weekend of the UTC calendar, and the hour bin of a time."""

import math

from bestbefore.policies.models.intensity import day_of
from bestbefore.policies.units import BINS, DAY_S, HOUR_S

_THURSDAY = 4
"""The day of the week, from Sunday, of the first day of Unix time."""


def is_weekend(t: float) -> bool:
    """Whether t lies on a Saturday or a Sunday."""
    day = (day_of(t) + _THURSDAY) % 7
    return day == 0 or day == 6


def bin_of(t: float) -> int:
    """The hour bin of t."""
    return min(math.floor((t - day_of(t) * DAY_S) / HOUR_S), BINS - 1)
