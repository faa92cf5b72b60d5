"""The index of an object: what a refresh now is worth, against which a price per contact is held.

An object with the weight w and the rate lambda(t) of updates has x = Lambda(a, t) updates expected since its last
contact at a. In the best schedule of a constant rate all objects are refreshed at one and the same value of

    freshness   (w / lambda) (1 - (1+x) e^-x)
    age         (w / lambda^2) (x^2/2 - 1 + (1+x) e^-x)
    delay       (w / lambda) x^2/2

which is the multiplier mu of the budget (`allocation.ratio`; `feeds` theorem 1). With the rate of the moment as lambda
the index rises when a busy hour ends: by theorem 3 of `feeds` that is when a refresh saves most. An object is due when
its index reaches mu; so what is asked here is the x at which it does.

Sources: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", section 5.3; Sia, Cho, Cho, "Efficient
monitoring algorithm for fast news alerts", theorems 1 and 3; Azar et al., "Tractable near-optimal policies for
crawling" (2018), for the multiplier as a price. The index of a rate that follows the hours is ours.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import CHUNK, Scratch
from bestbefore.policies.prefetch.allocation.ratio import LEAST_LOG_V, MOST_LOG_V, age_curve, freshness_curve
from bestbefore.policies.prefetch.online.clock_due import Cost, age_integral, outdated_time, waiting_time
from bestbefore.policies.units import FloatArray

Waiting = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""(rates per hour, weights, prices) -> the updates that are waiting when the index reaches the price, as many as rates.

Infinite where it never does: without weight or rate, and for freshness where updates are too frequent.
"""
LEAST_GAIN = 1e-300


def for_freshness(rates_per_hour: FloatArray, weights: FloatArray, prices: FloatArray) -> FloatArray:
    """x with (w / lambda) (1 - (1+x) e^-x) = price."""
    waiting = np.full(rates_per_hour.shape, math.inf)
    share = _quotient(rates_per_hour, weights, prices)
    reached = share < 1.0
    waiting[reached] = _looked_up(_freshness_ratio, -np.log1p(-share[reached]))
    return waiting


def for_age(rates_per_hour: FloatArray, weights: FloatArray, prices: FloatArray) -> FloatArray:
    """x with (w / lambda^2) (x^2/2 - 1 + (1+x) e^-x) = price."""
    waiting = np.full(rates_per_hour.shape, math.inf)
    share = _quotient(rates_per_hour, weights, prices)
    reached = np.isfinite(share)
    gain = np.maximum(share[reached] * rates_per_hour[reached], LEAST_GAIN)
    waiting[reached] = _looked_up(_age_ratio, np.log(gain))
    return waiting


def for_delay(rates_per_hour: FloatArray, weights: FloatArray, prices: FloatArray) -> FloatArray:
    """x with (w / lambda) x^2/2 = price."""
    return np.asarray(np.sqrt(2.0 * _quotient(rates_per_hour, weights, prices)))


def _quotient(rates_per_hour: FloatArray, weights: FloatArray, prices: FloatArray) -> FloatArray:
    """price lambda / w; infinite without rate or weight."""
    some = (rates_per_hour > 0.0) & (weights > 0.0)
    quotient = np.full(rates_per_hour.shape, math.inf)
    with np.errstate(over="ignore"):
        np.divide(prices * rates_per_hour, weights, out=quotient, where=some)
    return quotient


def _looked_up(table: Callable[[FloatArray, FloatArray, Scratch], None], values: FloatArray) -> FloatArray:
    found, scratch = np.empty(values.size), Scratch()
    for start in range(0, values.size, CHUNK):
        part = slice(start, start + CHUNK)
        table(values[part], found[part], scratch)
    return found


def _freshness_ratio(surprise: FloatArray, out: FloatArray, scratch: Scratch) -> None:
    root = np.sqrt(surprise)
    freshness_curve().at(root, out, scratch)
    np.divide(root, out, out=out)


def _age_ratio(log_gain: FloatArray, out: FloatArray, scratch: Scratch) -> None:
    age_curve().at(log_gain, out, scratch)
    out += np.minimum(log_gain - LEAST_LOG_V, 0.0) / 3.0 + np.maximum(log_gain - MOST_LOG_V, 0.0) / 2.0
    np.exp(out, out=out)


class Index(NamedTuple):
    """An objective of a schedule without a plan."""

    waiting: Waiting
    weighted: Callable[[FloatArray, FloatArray], FloatArray]
    """(rates per hour, weights) -> the weights with which the index has the frequencies of the objective."""
    cost: Cost = waiting_time
    """What a schedule of this objective minimises, for objects that change like clockwork."""


def _as_given(_: FloatArray, weights: FloatArray) -> FloatArray:
    return weights


def _inversely(rates_per_hour: FloatArray, weights: FloatArray) -> FloatArray:
    """w = 1 / lambda, where there is a rate and a weight."""
    some = (rates_per_hour > 0.0) & (weights > 0.0)
    return np.divide(1.0, rates_per_hour, out=np.zeros(rates_per_hour.shape), where=some)


def _proportionally(rates_per_hour: FloatArray, weights: FloatArray) -> FloatArray:
    return np.where(weights > 0.0, rates_per_hour, 0.0)


INDEXES: Mapping[str, Index] = {
    "uniform": Index(for_delay, _inversely),
    "proportional": Index(for_delay, _proportionally),
    "freshness": Index(for_freshness, _as_given, outdated_time),
    "age": Index(for_age, _as_given, age_integral),
    "delay": Index(for_delay, _as_given),
}
"""By the names of `table.ALLOCATIONS`, whose frequencies they have at constant rates. `uniform` and `proportional` are
the delay with weights of their own, so they follow the hours too."""

