"""The length of the training window: the mean delay with rates or profiles estimated from the last days or weeks.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", sections 4.2 and 4.3. Figure 8: retrievals
are allocated each day by the rates of the last days. Figure 11: retrievals are timed by the profiles of the last weeks.
Both are evaluated by the mean delay of later postings.

A day is 86400 s from `start_s` on in the first experiment, and a UTC day in the second.
"""

from collections.abc import Sequence

import numpy as np

from bestbefore.policies.models.patterns import hourly_counts, profiles
from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.timing.exact import retrieval_points_of_all
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

LEAST_POSTINGS = 0.5
"""The postings assumed for a feed without any in the window, so that it is still retrieved. (Not in the paper.)"""


def delays_at_rates_s(times_s: FloatArray, start_s: float, retrievals_per_day: FloatArray) -> FloatArray:
    """(n,) the delay of each posting under evenly spaced retrievals whose rate changes from day to day.

    `times_s` (n,) begin at `start_s`; `retrievals_per_day` (D,) > 0, the last also for all later days. A retrieval is
    made whenever the integral of the rate since `start_s` reaches a whole number, so 0.5 is one every second day.
    """
    due = np.concatenate(([0.0], np.cumsum(retrievals_per_day)))
    last = len(retrievals_per_day) - 1
    day = np.minimum(((times_s - start_s) // DAY_S).astype(np.intp), last)
    elapsed = due[day] + ((times_s - start_s) / DAY_S - day) * retrievals_per_day[day]
    next_due = np.ceil(elapsed)
    day_due = np.minimum(np.maximum(np.searchsorted(due, next_due) - 1, 0), last)
    retrieved_s = start_s + (day_due + (next_due - due[day_due]) / retrievals_per_day[day_due]) * DAY_S
    # By rounding, a posting at the time of a retrieval may lie slightly after it.
    return np.maximum(retrieved_s - times_s, 0.0)


def delays_at_points_s(times_s: FloatArray, points_h: FloatArray) -> FloatArray:
    """(n,) the delay of each posting under retrievals at the same `points_h` (m,), ascending, of each UTC day."""
    clock_h = times_s % DAY_S / HOUR_S
    following = np.append(points_h, points_h[0] + DAY_S / HOUR_S)[np.searchsorted(points_h, clock_h)]
    return (following - clock_h) * HOUR_S


def mean_delay_of_rate_window_s(
    feeds: Sequence[FloatArray], start_s: float, days: int, window_days: int, retrievals: float
) -> float:
    """Return the mean delay, s, with retrievals allocated each day by the rates of the last `window_days`.

    `feeds` are the ascending posting times of each feed; `retrievals` > 0 is the mean per day and feed. The postings in
    [start_s, start_s + days) are evaluated, earlier ones are history. NaN if there are none to evaluate.
    """
    day_s = start_s + DAY_S * np.arange(days)
    postings = np.array([
        np.searchsorted(times, day_s) - np.searchsorted(times, day_s - window_days * DAY_S) for times in feeds
    ], dtype=np.float64)
    rates = np.maximum(postings, LEAST_POSTINGS) / window_days
    budget = retrievals * len(feeds)
    shared = np.column_stack([continuous.delay(today, None, budget) for today in rates.T])
    judged = (times[slice(*np.searchsorted(times, (start_s, start_s + days * DAY_S)))] for times in feeds)
    return _mean([delays_at_rates_s(times, start_s, own) for times, own in zip(judged, shared, strict=True)])


def mean_delay_of_pattern_window_s(
    feeds: Sequence[FloatArray], start_s: float, days: int, window_days: int, retrievals: int, strength: float = 0.0
) -> float:
    """Return the mean delay, s, with the best retrieval points for the profile of each feed before `start_s`.

    The arguments are those of `mean_delay_of_rate_window_s`, with a whole number of `retrievals` >= 1 a day, the same
    for each feed. `strength` postings of the common profile are added to each profile (`patterns.profiles`).
    """
    counts = np.array([
        hourly_counts(times[slice(*np.searchsorted(times, (start_s - window_days * DAY_S, start_s)))])
        for times in feeds
    ])
    common = profiles(np.sum(counts, axis=0, keepdims=True))[0]
    points = retrieval_points_of_all(profiles(counts, common, strength), np.full(len(feeds), retrievals))
    judged = (times[slice(*np.searchsorted(times, (start_s, start_s + days * DAY_S)))] for times in feeds)
    return _mean([delays_at_points_s(times, own) for times, own in zip(judged, points, strict=True)])


def _mean(delays_s: Sequence[FloatArray]) -> float:
    number = sum(delays.size for delays in delays_s)
    return float(sum(np.sum(delays) for delays in delays_s)) / number if number else float("nan")
