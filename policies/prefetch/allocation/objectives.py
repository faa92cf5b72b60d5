"""The objectives of allocation: expected freshness, age and delay of objects that are refreshed at regular intervals.

An object has lambda updates per period, a Poisson process, and is refreshed f times per period, at intervals of 1/f;
r = lambda / f. All arrays are (n,); times are in periods.

Source: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", section 4.1 (fixed order) and definition
6.1; Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", theorem 1.
"""

from collections.abc import Callable

import numpy as np

from bestbefore.policies.units import FloatArray

Measure = Callable[[FloatArray, FloatArray], FloatArray]
"""(rates, refreshes) -> the expected value of each object; all arrays are (n,)."""


def freshness(rates: FloatArray, refreshes: FloatArray) -> FloatArray:
    """F = (1 - e^-r) / r: the share of time for which the copy is current; 0 if never refreshed, 1 if never updated."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = rates / refreshes
        refreshed: FloatArray = np.where(r > 0.0, -np.expm1(-r) / r, 1.0)
    return np.where((refreshes > 0.0) | (rates == 0.0), refreshed, 0.0)


def age(rates: FloatArray, refreshes: FloatArray) -> FloatArray:
    """A = (r/2 - 1 + (1 - e^-r) / r) / lambda: the time for which a copy has been outdated, averaged over time.

    In periods; infinite if never refreshed, 0 if never updated.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = np.where(rates > 0.0, rates / refreshes, 0.0)
        return np.where(rates > 0.0, unsynchronised(r) / rates, 0.0)


def unsynchronised(r: FloatArray) -> FloatArray:
    """lambda A = r/2 - 1 + (1 - e^-r) / r for r >= 0, exact also near 0, where it tends to r^2/6."""
    # sum over k >= 2 of (-r)^k / (k+1)!
    small = np.minimum(r, 0.5)
    term = small * small / 6.0
    series = term.copy()
    for k in range(3, 18):
        term = -term * small / (k + 1)
        series += term
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(r < 0.5, series, r / 2.0 - 1.0 - np.expm1(-r) / r)


def delay(rates: FloatArray, refreshes: FloatArray) -> FloatArray:
    """D = lambda / (2 f): the sum of the delays of an object's postings in a period, each 1/(2f) on average.

    In periods; infinite if never refreshed, 0 if nothing is posted.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(rates > 0.0, rates / refreshes / 2.0, 0.0)


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """sum(w v) / sum(w) over the objects with a weight above 0; infinite if one of their values is.

    Raises ValueError if all weights are 0.
    """
    heaviest = float(weights.max(initial=0.0))
    if not heaviest > 0.0:
        raise ValueError("no object has a weight above 0")
    shares = weights / heaviest  # so that the sum does not overflow
    counted = shares > 0.0
    return float((shares[counted] * values[counted]).sum() / shares.sum())
