"""The weekends of the UTC calendar, and the hour bin of a time."""

import math

from bestbefore.policies.models.intensity import day_of
from bestbefore.policies.units import BINS, DAY_S, HOUR_S

_THURSDAY = 4
"""The day of the week, from Sunday, of the first day of Unix time."""

WEEKEND_PART = 2.0 / 7.0
_SATURDAY_S, _WEEKEND_S, _WEEK_S = 2 * DAY_S, 2 * DAY_S, 7 * DAY_S
"""The first Saturday of Unix time, and how long a weekend and a week are."""


def is_weekend(t: float) -> bool:
    """Whether t lies on a Saturday or a Sunday."""
    day = (day_of(t) + _THURSDAY) % 7
    return day == 0 or day == 6


def weekend_part(from_s: float, until_s: float) -> float:
    """The part of this time that lies on Saturdays and Sundays; that of a whole week if there is no such time."""
    if not from_s < until_s:
        return WEEKEND_PART
    return (_weekends_s(until_s) - _weekends_s(from_s)) / (until_s - from_s)


def _weekends_s(t: float) -> float:
    """The time on weekends since a Saturday."""
    since_s = t - _SATURDAY_S
    weeks = math.floor(since_s / _WEEK_S)
    return weeks * _WEEKEND_S + min(since_s - weeks * _WEEK_S, _WEEKEND_S)


def bin_of(t: float) -> int:
    """The hour bin of t."""
    return min(math.floor((t - day_of(t) * DAY_S) / HOUR_S), BINS - 1)
