"""What a price brings at constant rates: contacts, freshness, age and delay; and the price for a budget or a target."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.allocation.cubics import chunks
from bestbefore.policies.prefetch.allocation.root import Root, falling_root
from bestbefore.policies.prefetch.online.estimate import Columns
from bestbefore.policies.prefetch.online.index import Index
from bestbefore.policies.units import HOUR_S, FloatArray

LOG_PRICES = (-200.0, 200.0)
"""A price at the lower end means that the budget is not used up though all objects are contacted as often as they may
be; one at the upper end, that it is exceeded by contacts at the longest intervals."""
TOLERANCE = 1e-4
"""The relative error of the budget or the target at a solved price."""
MOST_LOG = 1e3
SLOPE = -0.5
"""About d ln(contacts) / d ln(price): that of the delay."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The means of all objects, weighted; infinite if an object that changes is never contacted."""

    cost_per_hour: float
    """Of all contacts; where each costs 1 it is their number."""
    freshness: float
    """The share of time in which a copy is current."""
    age_s: float
    """For how long a copy has been outdated, averaged over time."""
    delay_s: float
    """The time from an update to the next contact."""

    def value(self, measure: str) -> float:
        """The value of `freshness`, or of `age` or `delay` in seconds."""
        return {"freshness": self.freshness, "age": self.age_s, "delay": self.delay_s}[measure]


def cost_per_hour(columns: Columns, index: Index, log_price: float) -> float:
    """The cost of the contacts with all objects that a price brings, within their limits."""
    return sum(float(part.costs @ part.contacts) for part in _parts(columns, index, log_price))


def expected(columns: Columns, index: Index, log_price: float) -> Expectation:
    """What a price brings; of no objects freshness 1, age and delay 0."""
    cost = weight = fresh = old = late = changing = 0.0
    for part in _parts(columns, index, log_price):
        cost += float(part.costs @ part.contacts)
        some = part.weights > 0.0
        rates, weights, contacts = part.rates[some], part.weights[some], part.contacts[some]
        weight += float(weights.sum())
        changing += float(weights @ rates)
        fresh += float(weights @ objectives.freshness(rates, contacts))
        old += float(weights @ objectives.age(rates, contacts))
        late += float(weights @ objectives.delay(rates, contacts))
    if not weight:
        return Expectation(cost, 1.0, 0.0, 0.0)
    return Expectation(cost, fresh / weight, HOUR_S * old / weight, HOUR_S * late / changing if changing else 0.0)


class _Part(NamedTuple):
    """Some thousand objects at a price."""

    rates: FloatArray
    weights: FloatArray
    costs: FloatArray
    contacts: FloatArray
    """Per hour."""


def _parts(columns: Columns, index: Index, log_price: float) -> Iterator[_Part]:
    price = math.exp(log_price)
    for part in chunks(len(columns)):
        live = columns.live[part]
        rates, weights, costs, thetas, longest_s, shortest_s = (
            column[part][live].astype(np.float64)
            for column in (
                columns.rates, columns.weights, columns.costs, columns.thetas, columns.longest_s, columns.shortest_s
            )
        )  # fmt: skip
        waiting = index.waiting(rates, index.weighted(rates, weights), price * costs)
        waiting = np.where(thetas > 0.0, thetas, waiting)
        contacts = np.divide(rates, waiting, out=np.full(rates.shape, math.inf), where=waiting > 0.0)
        contacts = np.minimum(np.maximum(contacts, HOUR_S / longest_s), HOUR_S / shortest_s)
        yield _Part(rates, weights, costs, contacts)


def log_price_for_budget(
    columns: Columns, index: Index, per_hour: float, guess: float, *, is_least: bool = True
) -> float:
    """Return the logarithm of the price at which contacts cost so much; the nearest possible if there is none.

    For freshness the cost jumps where an object gets its first contact. If it does so across the given one, the least
    price costs more than that and the next one less.
    """
    root = _solved(lambda log_price: _log(cost_per_hour(columns, index, log_price) / per_hour), guess)
    return root.low if is_least else root.high


def log_price_for_target(columns: Columns, index: Index, measure: str, value: float, guess: float) -> float:
    """Return the logarithm of the price at which `freshness`, or `age` or `delay` in seconds, has this value.

    If it is always better, the highest price; if never so good, the lowest.
    """
    sign = 1.0 if measure == "freshness" else -1.0
    return _solved(
        lambda log_price: sign * _log(expected(columns, index, log_price).value(measure) / value), guess
    ).low


def _solved(excess: Callable[[float], float], guess: float) -> Root:
    """The root of a function that falls with the logarithm of the price; the end where it has none."""
    low, high = LOG_PRICES
    if excess(low) <= 0.0:
        return Root(low, low, 0.0, 0.0)
    if excess(high) >= 0.0:
        return Root(high, high, 0.0, 0.0)
    return falling_root(excess, guess, SLOPE, TOLERANCE, high, least=low)


def _log(ratio: float) -> float:
    """The logarithm, of 0 and infinity too, so that a root can be bracketed."""
    return min(max(math.log(ratio), -MOST_LOG), MOST_LOG) if ratio > 0.0 else -MOST_LOG
