"""Estimates from features: rates of the object by hour bin, the pattern of its group, medians.

The functions are plain loops over the arrays of `ByBin`, so that numba compiles them unchanged.
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


def set_own_rates(features: Features) -> None:
    """Set `rates` to lambda_k of the 24 hour bins, from the counted updates of the object."""
    _set_rates(features, features.set_counts(), features.t)


def expected_within(features: Features, window_s: float, within: int) -> float:
    """Lambda(t - window_s, t) under the rates of the counted updates up to t - window_s.

    Observation must begin before t - window_s. `within` is the number of updates in the window.
    """
    start_s = features.t - window_s
    _set_rates(features, features.set_counts_before(window_s, within), start_s)
    by_bin = features.by_bin
    set_exposure_h(by_bin.hours, by_bin.hourly_s, start_s, features.t)
    return expected_updates(by_bin.rates, by_bin.hours)


def _set_rates(features: Features, updates: int, until_s: float) -> None:
    """Set the rates from `counts`, with the sum `updates`, in [`observed_since_s`, until_s]."""
    by_bin, since_s = features.by_bin, features.observed_since_s()
    set_exposure_h(by_bin.hours, by_bin.hourly_s, since_s, until_s)
    mean_per_hour = updates / ((until_s - since_s) / HOUR_S) if since_s < until_s else 0.0
    set_observed_rates_per_hour(by_bin.rates, by_bin.counts, by_bin.hours, mean_per_hour, features.least_exposure_h)


def set_group_pattern(features: Features, updates: int) -> None:
    """Set `rates` to s_k = (N_k / E_k) / (N / h_g): the intensity of the group in each segment over its mean.

    N_k are read from `counts`, with the sum N = `updates` > 0; `group_since_s` must lie before t.
    """
    by_bin, since_s = features.by_bin, features.group_since_s()
    set_exposure_h(by_bin.hours, features.by_bin.group_edges_s, since_s, features.t)
    mean_per_hour = updates / ((features.t - since_s) / HOUR_S)
    set_relative_rates(by_bin.rates, by_bin.counts, by_bin.hours, mean_per_hour, features.least_exposure_h)


def set_joined_group_pattern(features: Features, updates: int, penalty: float) -> int:
    """Set `rates` to s_k of joined segments, and `edges_s` to their edges; return the number of joined segments.

    A further segment must raise the log-likelihood by `penalty` > 0 times ln N. A penalty of 1 is the Bayesian
    information criterion, as a segment has two parameters, its edge and its rate.
    """
    by_bin, since_s, edges_s = features.by_bin, features.group_since_s(), features.by_bin.group_edges_s
    set_exposure_h(by_bin.hours, edges_s, since_s, features.t)
    mean_per_hour = updates / ((features.t - since_s) / HOUR_S)
    segments = set_segments(
        by_bin.segments, by_bin.begins, by_bin.worths, by_bin.counts, by_bin.hours, penalty * math.log(updates)
    )
    merge(by_bin.counts, by_bin.segments, segments)
    merge(by_bin.hours, by_bin.segments, segments)
    for i in range(segments + 1):
        by_bin.edges_s[i] = edges_s[by_bin.segments[i]]
    counts, hours = by_bin.counts[:segments], by_bin.hours[:segments]
    set_relative_rates(by_bin.rates, counts, hours, mean_per_hour, features.least_exposure_h)
    return segments


def median(values: MutableSequence[float], n: int) -> float:
    """Return the median of the first n >= 1 values, which are sorted in place."""
    for i in range(1, n):
        value = values[i]
        k = i
        while k and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value
    return (values[(n - 1) // 2] + values[n // 2]) / 2
