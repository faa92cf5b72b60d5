"""Estimates from features: rates of the object by hour bin, the pattern of its group, medians.

Plain loops over what `ByBin` has room for, so that they can be compiled as they are.
"""

import math
from collections.abc import MutableSequence

from bestbefore.policies.models.intensity import (
    expected_updates,
    set_exposure_h,
    set_observed_rates_per_hour,
    set_relative_rates,
)
from bestbefore.policies.models.segmentation import merge, set_segments
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.features import Features


def set_own_rates(known: Features) -> None:
    """Set `rates` to lambda_k of the 24 hour bins, from the counted updates of the object."""
    known.set_counts()
    _set_rates(known, known.t)


def expected_within(known: Features, window_s: float, within: int) -> float:
    """Lambda(t - window_s, t) under the rates of the counted updates up to t - window_s, which must be observed.

    `within` is the number of updates in the window.
    """
    known.set_counts_before(window_s, within)
    start_s = known.t - window_s
    _set_rates(known, start_s)
    by_bin = known.by_bin
    set_exposure_h(by_bin.hours, by_bin.hourly_s, start_s, known.t)
    return expected_updates(by_bin.rates, by_bin.hours)


def _set_rates(known: Features, until_s: float) -> None:
    """Set the rates from the counts since `observed_since_s`, if this is no later than `until_s`."""
    by_bin = known.by_bin
    set_exposure_h(by_bin.hours, by_bin.hourly_s, known.observed_since_s(), until_s)
    set_observed_rates_per_hour(by_bin.rates, by_bin.counts, by_bin.hours, known.least_exposure_h)


def set_group_pattern(known: Features, updates: int) -> None:
    """Set `rates` to s_k = (N_k / E_k) / (N / h_g): the intensity of the group in each segment over its mean.

    From the N = `updates` > 0 counted updates in `counts`, where `group_since_s` lies before t.
    """
    by_bin, since_s = known.by_bin, known.group_since_s()
    set_exposure_h(by_bin.hours, known.by_bin.group_edges_s, since_s, known.t)
    mean_per_hour = updates / ((known.t - since_s) / HOUR_S)
    set_relative_rates(by_bin.rates, by_bin.counts, by_bin.hours, mean_per_hour, known.least_exposure_h)


def set_joined_group_pattern(known: Features, updates: int, penalty: float) -> int:
    """The same with as many segments as are worth it: sets `edges_s` too, and returns how many there are.

    A further segment is worth it from a gain in log-likelihood of `penalty` > 0 times ln N on: with 1 this is the
    Bayesian information criterion, where a segment has two parameters, its edge and its rate.
    """
    by_bin, since_s, edges_s = known.by_bin, known.group_since_s(), known.by_bin.group_edges_s
    set_exposure_h(by_bin.hours, edges_s, since_s, known.t)
    mean_per_hour = updates / ((known.t - since_s) / HOUR_S)
    segments = set_segments(
        by_bin.segments, by_bin.begins, by_bin.worths, by_bin.counts, by_bin.hours, penalty * math.log(updates)
    )
    merge(by_bin.counts, by_bin.segments, segments)
    merge(by_bin.hours, by_bin.segments, segments)
    for i in range(segments + 1):
        by_bin.edges_s[i] = edges_s[by_bin.segments[i]]
    counts, hours = by_bin.counts[:segments], by_bin.hours[:segments]
    set_relative_rates(by_bin.rates, counts, hours, mean_per_hour, known.least_exposure_h)
    return segments


def median(values: MutableSequence[float], n: int) -> float:
    """Return the median of the first n values, 1 or more, which are sorted for it."""
    for i in range(1, n):
        value = values[i]
        k = i
        while k and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value
    return (values[(n - 1) // 2] + values[n // 2]) / 2
