"""When an object that changes like clockwork is due: just after the first beat at which a contact is worth its price.

A contact finds the same as one just after the last beat before it. Let beats end L_1 < L_2 < ... hours after that, let
x_k updates be expected until L_k, and C(L) be the cost that has accumulated at L: the time for which the copy has been
outdated (freshness), the integral of its age, or the waiting time of all updates (delay). A cycle that ends at L_k
costs (C(L_k) + mu / w) / L_k per hour. It is better than one that ends at L_(k+1) if

    w (C(L_(k+1)) L_k - C(L_k) L_(k+1)) / (L_(k+1) - L_k) >= mu,

which is the index after beat k. With ever more beats it becomes that of a constant rate (`index`).

Source of the model: Wolf et al., "Optimal crawling strategies for web search engines", sections 2.1 and 2.3.3; the
index is ours.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestbefore.policies.models.clockwork.beats import Clockwork, last_moment_s, moments
from bestbefore.policies.prefetch.online.week import KIND_OF, WEEK_S
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray

MOST_BEATS = 250
"""The beats after a contact that are looked at."""

Cost = Callable[[FloatArray, FloatArray], FloatArray]
"""(x, L), both (n,) -> (n-1,) the costs between the ends of successive beats."""


def outdated_time(waiting: FloatArray, ends_h: FloatArray) -> FloatArray:
    """The expected hours for which the copy is outdated."""
    return np.asarray(-np.expm1(-waiting[:-1]) * np.diff(ends_h))


def waiting_time(waiting: FloatArray, ends_h: FloatArray) -> FloatArray:
    """The expected hours for which updates wait."""
    return np.asarray(waiting[:-1] * np.diff(ends_h))


def age_integral(waiting: FloatArray, ends_h: FloatArray) -> FloatArray:
    """The expected integral of the age of the copy, square hours."""
    first_here = np.diff(-np.expm1(-waiting), prepend=0.0)
    outdated = np.cumsum(first_here)[:-1]
    since = np.cumsum(first_here * ends_h)[:-1]
    return np.asarray(0.5 * outdated * np.diff(ends_h**2) - since * np.diff(ends_h))


class BeatRates(NamedTuple):
    """The updates of an object at its beats."""

    clockwork: Clockwork
    per_hour: float
    """The mean rate, at beats."""
    relative: FloatArray
    """(48,) the rate of each hour of a day of the week, then of a weekend, relative to the mean rate."""


def due_after_beat(cost: Cost, rates: BeatRates, weight: float, price: float, contact_s: float) -> float:
    """Return the first end of a beat at which a contact is worth the price; infinite if there is none soon enough."""
    found = moments(rates.clockwork, contact_s, MOST_BEATS + 1)
    at_s = np.array([moment.at_s for moment in found])
    shares = np.array([moment.beat.share for moment in found])
    period_s = rates.clockwork.period_s
    waiting = np.cumsum(rates.per_hour * period_s / HOUR_S * shares * _factors(rates, at_s))
    ends_h = (at_s - last_moment_s(rates.clockwork, contact_s)) / HOUR_S
    costs = cost(waiting, ends_h)
    before = np.cumsum(costs) - costs
    index = costs / np.diff(ends_h) * ends_h[:-1] - before
    worth = np.flatnonzero(weight * index >= price)
    return float(at_s[worth[0]]) if worth.size else math.inf


def _factors(rates: BeatRates, at_s: FloatArray) -> FloatArray:
    """(n,) the updates at the beats that end then, relative to the mean of those beats."""
    if rates.clockwork.period_s > DAY_S:
        return np.ones(at_s.size)
    kinds = rates.relative.reshape(2, BINS)
    hours = (at_s % WEEK_S // HOUR_S).astype(np.intp)
    days = KIND_OF[hours] // BINS
    return kinds.mean(axis=1)[days] if rates.clockwork.period_s == DAY_S else kinds[days, hours % BINS]
