"""The length of the history to learn from: the delay of postings whose retrievals follow what was learnt in a window.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", sections 4.2 and 4.3. Figure 8: each day
the rates of the last days decide how often each feed is retrieved. Figure 11: the hours at which a feed posted in the
last weeks decide when it is retrieved. Both windows are judged by the mean delay of the postings that follow.

A day is 86400 s from `start_s` on in the first experiment, and a UTC day in the second.
"""

from collections.abc import Sequence

import numpy as np

from bestbefore.policies.models.patterns import hourly_counts, profiles
from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.timing.exact import retrieval_points_of_all
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

LEAST_POSTINGS = 0.5
"""What a feed without postings in the window counts as, lest it never be retrieved again. (The paper does not say.)"""


def delays_at_rates_s(times_s: FloatArray, start_s: float, retrievals_per_day: FloatArray) -> FloatArray:
    """(n,) the delay of each posting under evenly spaced retrievals whose rate changes from day to day.

    `times_s` (n,) from `start_s` on; `retrievals_per_day` (D,) > 0, the last for all days that follow. A retrieval is
    due whenever the integral of the rate since `start_s` reaches a whole number, so 0.5 a day is one every second day.
    """
    due = np.concatenate(([0.0], np.cumsum(retrievals_per_day)))
    last = len(retrievals_per_day) - 1
    day = np.minimum(((times_s - start_s) // DAY_S).astype(np.intp), last)
    elapsed = due[day] + ((times_s - start_s) / DAY_S - day) * retrievals_per_day[day]
    next_due = np.ceil(elapsed)
    day_due = np.minimum(np.maximum(np.searchsorted(due, next_due) - 1, 0), last)
    retrieved_s = start_s + (day_due + (next_due - due[day_due]) / retrievals_per_day[day_due]) * DAY_S
    # A posting at the moment of a retrieval may come out a rounding error after it.
    return np.maximum(retrieved_s - times_s, 0.0)


def delays_at_points_s(times_s: FloatArray, points_h: FloatArray) -> FloatArray:
    """(n,) the delay of each posting under retrievals at the same `points_h` (m,), ascending, of each UTC day."""
    clock_h = times_s % DAY_S / HOUR_S
    following = np.append(points_h, points_h[0] + DAY_S / HOUR_S)[np.searchsorted(points_h, clock_h)]
    return (following - clock_h) * HOUR_S


def mean_delay_of_rate_window_s(
    feeds: Sequence[FloatArray], start_s: float, days: int, window_days: int, retrievals: float
) -> float:
    """Return the mean delay with the best points for each feed.

    Those for its hourly profile in the window before `start_s`.

    `feeds`: ascending posting times of each; `retrievals` > 0 a day and feed on average. The postings in
    [start_s, start_s + days) are judged; those before are history only. NaN if there is none to judge.
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
    """Return the mean delay with the best points for each feed, by its hourly profile before `start_s`.

    As above; each feed has the same number of retrievals, 1 or more, on each day, so that only their times are judged.
    `strength`: postings that follow the profile of all feeds together, added to each (`patterns.profiles`).
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
