"""The rest of a period of which some contacts are made: gains, values and times from the last contact of each object.

An object was contacted `since` rests before the rest of the period begins (the unit of time is the rest). With x more
contacts, at t_1 < ... < t_x, its cost until the end is H(t_1 + since) - H(since) + sum of H over the other intervals,
where H(d) is the cost of an interval of length d between two contacts, a convex function. So the best intervals are
equal: d = (1 + since) / (x + 1) from the last contact on, or, if that time has passed already, the first contact is due
at once and the others divide what is left. This minimum over t_1 of a jointly convex function of t_1 and x is convex in
x, so that `best_visits` is exact.

Source: Wolf et al., "Optimal crawling strategies for web search engines", section 3 (ideal times follow from the last
crawl of the interval before); the gains are ours.
"""

from typing import Self

import numpy as np

from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.checked import IntArray, checked
from bestbefore.policies.units import FloatArray


def stale_share(rates: FloatArray, refreshes: FloatArray) -> FloatArray:
    """1 - F, the share of time for which the copy is outdated."""
    return 1.0 - objectives.freshness(rates, refreshes)


COSTS: dict[str, objectives.Measure] = {
    "freshness": stale_share, "age": objectives.age, "delay": objectives.delay,
}
"""The cost by the objective, as a mean over an interval between two contacts."""


def first_interval(since: FloatArray, visits: FloatArray) -> FloatArray:
    """(n,) the interval that the first of `visits` further contacts ends; to the end of the period if there is none."""
    return np.maximum(since, (1.0 + since) / (visits + 1.0))


def cost_of_rest(
    measure: objectives.Measure, rates: FloatArray, since: FloatArray, visits: FloatArray
) -> FloatArray:
    """(n,) the cost of each object over the rest with `visits` further contacts at the best times."""
    first = np.where(visits > 0.0, first_interval(since, visits), 1.0 + since)
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.where(visits > 0.0, (1.0 + since - first) / visits, 0.0)
    begun = _of_interval(measure, rates, first) - _of_interval(measure, rates, since)
    return begun + visits * _of_interval(measure, rates, other)


def _of_interval(measure: objectives.Measure, rates: FloatArray, length: FloatArray) -> FloatArray:
    """H(d), the cost of an interval of this length: its mean cost times its length."""
    with np.errstate(divide="ignore"):
        return length * measure(rates, 1.0 / length)


class ContinuedGains:
    """The gains of one more contact in the rest of a period."""

    def __init__(self, objective: str, rates: FloatArray, weights: FloatArray, since: FloatArray) -> None:
        """Take (n,) updates per rest, weights, and the time since the last contact in rests, 0 or more."""
        self._objective = objective
        self._rates, self._weights = checked(rates, weights)
        self._since = since

    def __len__(self) -> int:
        return len(self._rates)

    def count(self, threshold: float, maximum: IntArray) -> IntArray:
        """Count the visits that gain at least the threshold, by bisection; see `Gains.count`."""
        low, high = np.zeros(len(self), np.int64), np.maximum(maximum, 0)
        everything = np.arange(len(self))
        while np.any(low < high):
            middle = (low + high) // 2
            enough = (self.of(everything, middle) >= threshold) & (low < high)
            high = np.where(enough, high, np.minimum(high, middle))
            low = np.where(enough, middle + 1, low)
        return low

    def of(self, objects: IntArray, visits: IntArray) -> FloatArray:
        """Return the gains of single visits; see `Gains.of`."""
        measure, rates, since = COSTS[self._objective], self._rates[objects], self._since[objects]
        before = cost_of_rest(measure, rates, since, visits.astype(np.float64))
        after = cost_of_rest(measure, rates, since, visits.astype(np.float64) + 1.0)
        return self._weights[objects] * (before - after)

    def subset(self, objects: IntArray) -> Self:
        """Return the gains of some of the objects; see `Gains.subset`."""
        return type(self)(self._objective, self._rates[objects], self._weights[objects], self._since[objects])
