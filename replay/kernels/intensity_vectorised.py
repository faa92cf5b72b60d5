"""The intensity of updates over the day for many contacts at once, by numpy: twin of `policies.models.intensity`.

The segments are the 24 hour bins: arrays by hour bin are (24, n), for n contacts. The order of each sum and product is
that of the policies' own functions, so that the results are equal to the last bit. What numpy warns of when it divides
by 0 is meant to be: the caller silences it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import BINS, DAY_S, HOUR_S, FloatArray
from bestbefore.policies.models.intensity import FOREVER_DAYS, HOURLY_S, TOLERANCE

EDGES_S = np.array(HOURLY_S)
LOWER_S = EDGES_S[:-1, np.newaxis]
ROUND_THE_CLOCK = np.add.outer(np.arange(BINS + 1), np.arange(BINS)) % BINS
"""(25, 24) the bins from each on, and that one once more."""


def exposure_h(start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """(24, n) Twin of `intensity.exposure_h`."""
    days = end_s // DAY_S - start_s // DAY_S
    if (start_s == start_s[:1]).all():  # as it is unless policies forget
        start_s = start_s[:1]
    seconds = _of_each_hour(end_s % DAY_S)
    seconds += days * HOUR_S
    seconds -= _of_each_hour(start_s % DAY_S)
    seconds /= HOUR_S
    return seconds


def _of_each_hour(clock_s: FloatArray) -> FloatArray:
    """(24, n) the seconds of each hour of the day that have passed at a time of day."""
    seconds: FloatArray = clock_s - LOWER_S
    return np.clip(seconds, 0.0, HOUR_S, out=seconds)


def observed_rates_per_hour(counts: NDArray[np.integer], hours: FloatArray, least_h: float) -> FloatArray:
    """(24, n) Twin of `intensity.observed_rates_per_hour`."""
    rates: FloatArray = counts / hours
    unseen = hours < least_h if least_h > 0.0 else hours <= 0.0
    if unseen.any():
        total_h = running_sum(hours)
        mean = np.where((total_h > 0.0) & (least_h > 0.0), counts.sum(axis=0) / total_h, 0.0)
        np.copyto(rates, mean, where=unseen)
    return rates


def expected_updates(rates_per_hour: FloatArray, hours: FloatArray) -> FloatArray:
    """(n,) Twin of `intensity.expected_updates`."""
    return running_sum(rates_per_hour * hours)


def first_passage_s(rates_per_hour: FloatArray, start_s: FloatArray, theta: FloatArray) -> FloatArray:
    """(n,) Twin of `intensity.first_passage_s`."""
    needed = theta * (1.0 - TOLERANCE)
    per_day = running_sum(rates_per_hour * HOUR_S / HOUR_S)
    at_once = needed <= 0.0
    never = ~at_once & (per_day * FOREVER_DAYS < needed)
    if at_once.any() or never.any():
        passages_s = np.where(never, math.inf, start_s)
        walking = np.flatnonzero(~at_once & ~never)
        passages_s[walking] = _walked_s(rates_per_hour[:, walking], start_s[walking], needed[walking], per_day[walking])
        return passages_s
    return _walked_s(rates_per_hour, start_s, needed, per_day)


def _walked_s(rates_per_hour: FloatArray, start_s: FloatArray, needed: FloatArray, per_day: FloatArray) -> FloatArray:
    """When more than nothing has come to pass that does at some time."""
    clock_s = start_s % DAY_S
    days = np.ceil(needed / per_day) - 1.0
    midnight_s = start_s - clock_s + days * DAY_S
    # The day that is left to be walked, bin by bin, ends in the bin in which it began: that one is there twice.
    first = (clock_s // HOUR_S).astype(np.int64)
    here = np.arange(len(first))
    rates_per_s = rates_per_hour.ravel().take(ROUND_THE_CLOCK[:, first] * len(first) + here)
    rates_per_s /= HOUR_S
    left = np.empty((BINS + 2, len(first)))
    left[0] = needed - days * per_day
    np.multiply(rates_per_s, HOUR_S, out=left[1:])
    left[1] = rates_per_s[0] * (EDGES_S[first + 1] - clock_s)
    for k in range(BINS + 1):  # one after another; `accumulate` would be slower
        np.subtract(left[k], left[k + 1], out=left[k + 1])
    step = (left[1:] > 0.0).view(np.int8).sum(axis=0, dtype=np.int8).astype(np.int64)
    if step.max(initial=0) > BINS:  # rounded so that a little is left: what is there ends in the last bin with updates
        over = np.flatnonzero(step > BINS)
        step[over] = BINS - (rates_per_s[::-1, over] > 0.0).argmax(axis=0)
    clock_s = np.where(step == 0, clock_s, EDGES_S[ROUND_THE_CLOCK[step, first]])
    midnight_s[first + step >= BINS] += DAY_S
    passages_s: FloatArray = midnight_s + clock_s + left[step, here] / rates_per_s[step, here]
    return passages_s


def running_sum(terms: FloatArray) -> FloatArray:
    """The sums over the first axis, added one after another as a loop would."""
    total: FloatArray = np.zeros(terms.shape[1:])
    for term in terms:
        total += term
    return total
