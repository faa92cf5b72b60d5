"""The hints of a feed on when it is worth polling, and how they bound a learned expiry."""

import math
from collections.abc import Sequence

from bestbefore.addon.feeds.document import Hints
from bestbefore.policies.units import DAY_S, HOUR_S

_PERIODS_S = {"hourly": HOUR_S, "daily": DAY_S, "weekly": 7 * DAY_S, "monthly": 30 * DAY_S, "yearly": 365 * DAY_S}
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EPOCH_WEEKDAY = 3
"""1970-01-01 was a Thursday."""
_DIGITS_AT_MOST = 9


def ttl_s(minutes: str | None) -> float:
    """Parse RSS's `ttl`, in s; 0 if missing or malformed."""
    return 60.0 * (_number(minutes) or 0)


def period_s(period: str | None, frequency: str | None) -> float:
    """Return the syndication module's updatePeriod over its updateFrequency, s; 0 if missing or malformed."""
    if period is None and frequency is None:
        return 0.0
    return _PERIODS_S.get((period or "daily").strip().lower(), 0.0) / max(1, _number(frequency) or 1)


def skip_hours(hours: Sequence[str]) -> tuple[int, ...]:
    """Parse RSS's skipHours: 0 to 23, and 24 for 0 in old feeds; skip malformed values."""
    numbers = {number % 24 for text in hours if (number := _number(text)) is not None and number <= 24}
    return tuple(sorted(numbers))


def skip_days(days: Sequence[str]) -> tuple[int, ...]:
    """Parse RSS's skipDays, which are English names."""
    return tuple(sorted({_DAYS.index(name) for text in days if (name := text.strip()[:3].lower()) in _DAYS}))


def bounded(expiry_s: float, t: float, hints: Hints, most_s: float) -> float:
    """Delay a learned expiry by the feed's hints: not before t + `least_s`, and not in skipped hours and days.

    The result is never earlier than the learned expiry; and hints never delay it beyond t + `most_s`, so that no feed
    can prevent polling for a year. Hours and days are UTC.
    """
    at_s = max(expiry_s, t + hints.least_s)
    latest_s = max(expiry_s, t + most_s)
    while at_s < latest_s and _is_skipped(at_s, hints):
        at_s = (math.floor(at_s / HOUR_S) + 1) * HOUR_S
        if at_s > expiry_s + 8 * DAY_S:  # every hour of the week is skipped: an error of the feed
            return max(expiry_s, min(t + hints.least_s, latest_s))
    return min(at_s, latest_s)


def _is_skipped(at_s: float, hints: Hints) -> bool:
    hour = math.floor(at_s / HOUR_S) % 24
    day = (math.floor(at_s / DAY_S) + _EPOCH_WEEKDAY) % 7
    return hour in hints.skip_hours or day in hints.skip_days


def _number(text: str | None) -> int | None:
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_AT_MOST else None
