"""Recurrent piecewise-constant update intensities lambda(t) with a period of one day.

The day is cut into K segments by `edges_s`: K+1 ascending seconds since midnight UTC, from 0 to 86400. `HOURLY_S` cuts
it into the 24 hour bins. In segment k the intensity is `rates_per_hour[k]` >= 0, the same on each day.

The functions are plain loops over floats and sequences, so that numba compiles them unchanged. The variants named
`set_...` write their results into an array of the caller, which saves an allocation in each of millions of calls.

Source: Bright, Gal, Raschid, "Adaptive pull-based data freshness policies for diverse update patterns", section 3.2
and equations 1 and 2 (printed there without its sum sign between the first, middle and last segments).
"""

import math
from collections.abc import MutableSequence, Sequence

from bestbefore.policies.units import BINS, DAY_S, HOUR_S

HOURLY_S: tuple[float, ...] = tuple(k * HOUR_S for k in range(BINS + 1))
"""The edges of the 24 hour bins."""
TOLERANCE = 1e-9
"""Two masses with a smaller relative difference than this count as equal. Where the mass is flat at theta, the rounding
error of a sum would otherwise move an expiry by hours."""
FOREVER_DAYS = 1e9
"""A passage that takes longer than this is infinite."""


def day_of(t: float) -> int:
    """The number of the UTC day of t: t // DAY_S, without the division with remainder that is slow in compiled code."""
    day = math.floor(t / DAY_S)
    return day - 1 if day * DAY_S > t else day  # where the quotient was rounded up


def exposure_h(edges_s: Sequence[float], start_s: float, end_s: float) -> list[float]:
    """E_k: the hours of [start_s, end_s] that lie in each segment; start_s <= end_s.

    Whole days are added in closed form, so the cost does not depend on the length of the interval.
    """
    hours = [0.0] * (len(edges_s) - 1)
    set_exposure_h(hours, edges_s, start_s, end_s)
    return hours


def set_exposure_h(hours: MutableSequence[float], edges_s: Sequence[float], start_s: float, end_s: float) -> None:
    """Set hours[k] to E_k."""
    start_day, end_day = day_of(start_s), day_of(end_s)
    days = end_day - start_day
    start_clock_s = start_s - start_day * DAY_S
    end_clock_s = end_s - end_day * DAY_S
    for k in range(len(hours)):
        lower_s, upper_s = edges_s[k], edges_s[k + 1]
        from_s = lower_s if start_clock_s < lower_s else upper_s if start_clock_s > upper_s else start_clock_s
        to_s = lower_s if end_clock_s < lower_s else upper_s if end_clock_s > upper_s else end_clock_s
        hours[k] = (days * (upper_s - lower_s) + (to_s - from_s)) / HOUR_S


def observed_rates_per_hour(counts: Sequence[int], hours: Sequence[float], least_h: float) -> list[float]:
    """lambda_k = n_k / E_k, updates per hour, for each segment.

    A segment that was not observed (E_k = 0) has the rate 0. With `least_h` > 0, a segment observed for less than that
    many hours has the mean rate over all segments instead.
    """
    rates = [0.0] * len(counts)
    total_h = sum(hours)
    set_observed_rates_per_hour(rates, counts, hours, sum(counts) / total_h if total_h > 0.0 else 0.0, least_h)
    return rates


def set_observed_rates_per_hour(
    rates: MutableSequence[float],
    counts: Sequence[int],
    hours: Sequence[float],
    mean_per_hour: float,
    least_h: float,
) -> None:
    """Set rates[k] to lambda_k; `mean_per_hour` is the mean rate over all segments."""
    other = mean_per_hour if least_h > 0.0 else 0.0
    for k in range(len(counts)):
        rates[k] = counts[k] / hours[k] if hours[k] > 0.0 and hours[k] >= least_h else other


def set_relative_rates(
    rates: MutableSequence[float],
    counts: Sequence[int],
    hours: Sequence[float],
    mean_per_hour: float,
    least_h: float,
) -> None:
    """Set rates[k] to s_k = (n_k / E_k) / (n / h): each segment's rate over `mean_per_hour` = n / h > 0."""
    set_observed_rates_per_hour(rates, counts, hours, mean_per_hour, least_h)
    for k in range(len(rates)):
        rates[k] /= mean_per_hour


def mass(edges_s: Sequence[float], rates_per_hour: Sequence[float], start_s: float, end_s: float) -> float:
    """Lambda(start_s, end_s): the updates expected in (start_s, end_s]; start_s <= end_s."""
    return expected_updates(rates_per_hour, exposure_h(edges_s, start_s, end_s))


def expected_updates(rates_per_hour: Sequence[float], hours: Sequence[float]) -> float:
    """The sum of lambda_k * E_k."""
    total = 0.0
    for k in range(len(hours)):
        total += rates_per_hour[k] * hours[k]
    return total


def first_passage_s(edges_s: Sequence[float], rates_per_hour: Sequence[float], start_s: float, theta: float) -> float:
    """The first t' >= start_s with Lambda(start_s, t') >= theta, up to `TOLERANCE`; infinite if there is none.

    Whole days are skipped in closed form, then at most one day is walked.
    """
    # In updates per hour times seconds, as the gains below, so that no gain is divided by an hour. Within the first day
    # nothing waits for the sum `per_day`: the processor predicts the comparison with it.
    needed = theta * (1.0 - TOLERANCE) * HOUR_S
    if needed <= 0.0:
        return start_s
    segments = len(rates_per_hour)
    per_day = 0.0
    k = -1
    clock_s = start_s - day_of(start_s) * DAY_S
    for i in range(segments):
        per_day += rates_per_hour[i] * (edges_s[i + 1] - edges_s[i])
        k += edges_s[i] <= clock_s
    midnight_s = start_s - clock_s
    if needed > per_day:
        if per_day * FOREVER_DAYS < needed:
            return math.inf
        # One whole day fewer than fits, so that the rest is above 0: a mass of exactly n days is reached at the end of
        # the last segment with updates, which may lie hours before the same time of day.
        days = math.ceil(needed / per_day) - 1
        needed -= days * per_day
        midnight_s += days * DAY_S
    passage_s = start_s
    for _ in range(segments + 1):
        gain = rates_per_hour[k] * (edges_s[k + 1] - clock_s)
        if gain > 0.0:
            if gain >= needed:
                return midnight_s + clock_s + needed / rates_per_hour[k]
            needed -= gain
            passage_s = midnight_s + edges_s[k + 1]
        k += 1
        clock_s = edges_s[k]
        if k == segments:
            k = 0
            clock_s = 0.0
            midnight_s += DAY_S
    return passage_s  # what is still needed is a rounding error
