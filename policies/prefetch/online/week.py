"""Rates of updates that follow the hour of the day and the weekend, and when so many updates are expected to wait.

Rates are constant within an hour of the UTC week, which here begins with the first hour of Unix time, a Thursday. All
arrays have a row for each object, and all objects are solved at once, without a loop over hours.
"""

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray, IntArray

WEEK_DAYS, WEEKEND_DAYS = 7, 2
WEEK_H = WEEK_DAYS * BINS
WEEK_S = WEEK_DAYS * DAY_S
KINDS = 2 * BINS
"""Hours with different rates: those of a day of the week, then those of a weekend."""
KIND_OF = np.array([BINS * is_weekend(hour * HOUR_S) + hour % BINS for hour in range(WEEK_H)], dtype=np.intp)
"""(168,) the kind of each hour of the week."""
AHEAD = np.arange(WEEK_H + 1)
KIND_AHEAD = np.tile(KIND_OF, 3)
LEAST = 1e-300
"""The least number of updates in a week, so that none can be divided by."""
MOST_WEEKS = 1e6
"""What takes longer never happens."""
SHARES = 255.0
"""What a share of 1 is as a byte."""


def bytes_of(profile: FloatArray) -> NDArray[np.uint8]:
    """The profile, shares of updates by hour (..., 24), in bytes: ten for an hour with the mean rate."""
    relative = profile * (BINS / np.sum(profile, axis=-1, keepdims=True))
    return np.round(10.0 * relative).astype(np.uint8)


class WeekRates:
    """The rates of m objects by hour of the week."""

    def __init__(self, rates_per_hour: FloatArray, hours: NDArray[np.uint8], weekends: NDArray[np.uint8]) -> None:
        """Take mean rates (m,), `hours` (m, 24) relative to each other, and the share of weekends (m,) in 1/255."""
        share = weekends[:, None] / SHARES
        relative = hours * (BINS / hours.sum(axis=1, dtype=np.float64, keepdims=True))
        self.relative = np.concatenate((
            relative * ((1.0 - share) * (WEEK_DAYS / (WEEK_DAYS - WEEKEND_DAYS))),
            relative * (share * (WEEK_DAYS / WEEKEND_DAYS)),
        ), axis=1)  # fmt: skip
        """(m, 48) the rate of each kind of hour, relative to the mean rate."""
        self._hourly = (rates_per_hour[:, None] * self.relative)[:, KIND_OF]
        until = self._hourly.cumsum(axis=1)
        self._per_week = np.maximum(until[:, -1], LEAST)
        self._until = np.concatenate((until, until + self._per_week[:, None]), axis=1)
        """(m, 336) the updates expected from the beginning of a week to the end of each hour of it and of the next."""
        self._row = np.arange(len(rates_per_hour))

    def between(self, from_s: FloatArray, to_s: FloatArray) -> FloatArray:
        """(m,) the updates expected from one time to another."""
        weeks = to_s // WEEK_S - from_s // WEEK_S
        return np.asarray(weeks * self._per_week + self._in_week(to_s)[0] - self._in_week(from_s)[0])

    def _in_week(self, t_s: FloatArray) -> tuple[FloatArray, IntArray]:
        """The updates expected from the beginning of the week, and the hour of it."""
        hour = t_s % WEEK_S / HOUR_S
        k = np.minimum(hour.astype(np.intp), WEEK_H - 1)
        return self._until[self._row, k] - (k + 1.0 - hour) * self._hourly[self._row, k], k

    def first_reaching(self, waiting: FloatArray, contact_s: FloatArray, from_s: FloatArray) -> FloatArray:
        """(m,) the first time, not before `from_s` (m,), at which enough updates wait since the last contact (m,).

        `waiting` (m, 48) is what is enough in each kind of hour. Infinite where that is never reached.
        """
        in_week, first = self._in_week(from_s)
        wait = self.between(contact_s, from_s)
        # from the rest of the present hour to the beginning of the same hour a week later
        ahead = first[:, None] + AHEAD
        enough = waiting[self._row[:, None], KIND_AHEAD[ahead]]
        until = self._until[self._row[:, None], ahead] + (wait - in_week)[:, None]
        until[:, -1] = wait + self._per_week
        weeks = np.maximum(np.ceil((enough - until) / self._per_week[:, None]), 0.0)
        k = weeks.argmin(axis=1)
        fewest = weeks[self._row, k]
        never = ~(fewest < MOST_WEEKS)
        fewest[never] = 0.0
        rate = self._hourly[self._row, (first + k) % WEEK_H]
        surplus = until[self._row, k] + fewest * self._per_week - np.where(never, 0.0, enough[self._row, k])
        begin_s = np.where(k > 0, from_s // HOUR_S * HOUR_S + k * HOUR_S, from_s)
        end_s = np.where(k < WEEK_H, (from_s // HOUR_S + 1 + k) * HOUR_S, from_s + WEEK_S)
        back_s = np.divide(surplus * HOUR_S, rate, out=np.full(rate.shape, np.inf), where=rate > 0.0)
        reached = np.maximum(end_s - back_s, begin_s) + fewest * WEEK_S
        reached[never] = np.inf
        return np.asarray(reached)
