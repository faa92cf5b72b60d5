"""The age and delay of a page that may be updated at known moments only, each with a probability.

The contacts are those of the least staleness. Between two contacts a copy is outdated from the first update on: if that
is at the moment t_k and the next contact at e, the integral of its age is (e - t_k)^2 / 2. An update at t_k has the
delay e - t_k.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, optimal_crawls
from bestbefore.policies.units import FloatArray


def mean_age(updates: PotentialUpdates, contacts: float, boundary: Boundary) -> float:
    """The age averaged over time, in the unit of the period, interpolated between whole numbers of contacts.

    It is infinite in a periodic plan without contacts, and 0 with a contact at each moment.
    """

    def between(waits: FloatArray, p: FloatArray) -> float:
        unchanged = np.cumprod(np.append(1.0, 1.0 - p))[:-1]
        return float((unchanged * p * waits**2).sum()) / 2.0

    return _interpolated(updates, contacts, boundary, between) / updates.period


def total_delay(updates: PotentialUpdates, contacts: float, boundary: Boundary) -> float:
    """The sum of the delays of all updates of a period, in the unit of the period; otherwise as `mean_age`."""
    return _interpolated(updates, contacts, boundary, lambda waits, p: float((p * waits).sum()))


def _interpolated(
    updates: PotentialUpdates, contacts: float, boundary: Boundary, between: Callable[[FloatArray, FloatArray], float]
) -> float:
    """Sum `between` over the gaps between contacts; its arguments are the waits and probabilities of the updates."""

    def at(number: int) -> float:
        if number >= updates.times.size or not updates.probabilities.any():
            return 0.0
        if number == 0 and boundary == "periodic":
            return math.inf
        return sum(between(waits, p) for waits, p in _gaps(updates, number, boundary))

    below = math.floor(contacts)
    value = at(below)
    if below == contacts or math.isinf(value):
        return value
    return value + (contacts - below) * (at(below + 1) - value)


def _gaps(updates: PotentialUpdates, contacts: int, boundary: Boundary) -> Iterator[tuple[FloatArray, FloatArray]]:
    t, p = updates.times, updates.probabilities
    crawled = optimal_crawls(updates, contacts, boundary)
    if boundary == "interval":
        firsts, lasts = np.append(0, crawled + 1), np.append(crawled, t.size)
        ends = np.append(t[crawled], updates.period)
    else:
        t, p = np.concatenate((t, t + updates.period)), np.concatenate((p, p))
        firsts, lasts = crawled + 1, np.append(crawled[1:], crawled[0] + updates.times.size)
        ends = t[lasts]
    for first, last, end in zip(firsts.tolist(), lasts.tolist(), ends.tolist(), strict=True):
        yield end - t[first:last], p[first:last]
