"""Online refreshing by an index: at each moment the object whose refresh has the largest index.

An object with rate lambda and weight w, refreshed tau ago, has the index

    (w / lambda) (1 - (1 + x) exp(-x)),        x = lambda tau.

In an optimal plan at regular intervals all objects are refreshed at one and the same value of it, the multiplier of the
budget (`refresh` section 5.3, with x = lambda / f). So refreshing the largest one whenever there is a contact to
spend needs no multiplier: it settles by itself, at what the budget allows, and follows rates, weights and budgets that
change.

The index only grows until the object is refreshed, at its own pace. The largest of n is found without looking at all of
them: only the objects that have reached a floor, somewhat below the largest index, are compared, some sqrt(n) of them;
of the others is known when they will, since the index can be turned round. It is exactly the largest unless more than
4 sqrt(n) objects reach the floor at once, say because all were last refreshed at the same moment; then those wait that
reached it last, until the floor is raised.

Source: Azar, Horvitz, Lubetzky, Peres, Shahaf, "Tractable near-optimal policies for crawling" (PNAS 115, 2018) for the
optimum as a price; the index is the gain that `refresh` equates.
"""

import heapq
import math

import numpy as np

from bestbefore.policies.prefetch.allocation.cubics import Scratch, chunks
from bestbefore.policies.prefetch.allocation.ratio import freshness_curve
from bestbefore.policies.units import HOUR_S, FloatArray, IntArray

LEAST_COMPARED = 16
"""How many objects are to have reached a new floor, at least; else sqrt(n)."""
MOST_OF_WANTED = 4
"""No more than this many times as many are compared. At most once in as many refreshes the floor is raised for it."""
MOST_ENTRIES = 3
"""Due times kept for each object, outdated ones included."""
SMALL = 1e-3
"""Below, differences of nearly equal numbers are replaced by their series, which there are right to 1e-12."""
EARLY = 1e-9
"""By this part of tau objects are taken to reach the floor too early, so that rounding makes none of them late."""
MOST = 1e100
"""Rates and weights above this are an error, so that nothing computed of them overflows."""
NEVER_S = -1e15
"""What was never refreshed counts as refreshed then, 30 million years ago."""


def refresh_index(rates_per_hour: FloatArray, weights: FloatArray, since_refresh_h: FloatArray) -> FloatArray:
    """The index of objects last refreshed that long ago; 0 where the rate, the weight or the time is. All (n,)."""
    x = rates_per_hour * since_refresh_h
    small = np.minimum(x, SMALL)
    series = small * small * (0.5 - small * (1 / 3 - small / 8))
    gain = np.where(x < SMALL, series, -np.expm1(-x) - x * np.exp(-x))
    index: FloatArray = np.divide(weights * gain, rates_per_hour, out=np.zeros_like(x), where=rates_per_hour > 0.0)
    return index


def reached_after_h(rates_per_hour: FloatArray, weights: FloatArray, index: float) -> FloatArray:
    """Return how long after a refresh objects reach an index above 0; infinite where it is w / lambda or more.

    All (n,).

    With s = -ln(1 - index lambda / w) this is the x / lambda at which x - ln(1 + x) = s. Relative error 3e-13.
    """
    times_h = np.full(rates_per_hour.shape, math.inf)
    changing = np.flatnonzero((rates_per_hour > 0.0) & (weights > 0.0))
    shares = index * rates_per_hour[changing] / weights[changing]
    numbers, shares = changing[shares < 1.0], shares[shares < 1.0]
    scratch = Scratch()
    for part in chunks(numbers.size):
        q = np.sqrt(-np.log1p(-shares[part]))
        scaled = scratch.first[: q.size]
        freshness_curve().at(q, scaled, scratch)
        times_h[numbers[part]] = q / scaled / rates_per_hour[numbers[part]]
    return times_h


class IndexScheduler:
    """Objects 0 to n-1 with their rates, weights and last refreshes.

    Costs O(sqrt(n)) a refresh, and O(n log n) each time the floor is set: at first, and when the budget, the rates or
    the weights have changed much.
    """

    def __init__(self, rates_per_hour: FloatArray, weights: FloatArray, refreshed_s: FloatArray) -> None:
        """Start with n objects: rates and weights of 0 to 1e100, and when each was last refreshed (-inf: never).

        All (n,).
        """
        self._rates = np.array(rates_per_hour, dtype=np.float64)
        self._weights = np.array(weights, dtype=np.float64)
        self._refreshed_s = np.maximum(np.array(refreshed_s, dtype=np.float64), NEVER_S)
        if not self._rates.shape == self._weights.shape == self._refreshed_s.shape:
            raise ValueError(f"{len(self._rates)} rates, {len(self._weights)} weights, {len(self._refreshed_s)} times")
        _check("rate", self._rates)
        _check("weight", self._weights)
        wrong = ~np.isfinite(self._refreshed_s)
        if wrong.any():
            number = int(np.argmax(wrong))
            raise ValueError(f"object {number} was refreshed at {self._refreshed_s[number]}, expected a time")
        self._wanted = max(LEAST_COMPARED, math.isqrt(self._rates.size))
        self._most = MOST_OF_WANTED * self._wanted
        self._refreshes = 0
        """Since the floor was set."""
        self._now_s = -math.inf
        self._floor = math.inf
        self._reached: list[int] = []
        """The objects compared: all that have reached the floor, and some whose estimates have fallen since."""
        self._climb_s = np.full(self._rates.shape, math.inf)
        """How long after a refresh each object reaches the floor."""
        self._due_s = np.full(self._rates.shape, math.inf)
        """When each object that is not among those compared will be."""
        self._queue: IntArray = np.empty(0, dtype=np.intp)
        """The objects by due time, as of when the floor was set."""
        self._queue_s = np.empty(0)
        self._passed = 0
        self._later: list[tuple[float, int]] = []
        """A heap of the due times since. An entry of either is outdated where `_due_s` says otherwise."""

    def take(self, now_s: float) -> int | None:
        """The object with the largest index at now_s, the lowest number of equal ones; None if all indexes are 0.

        It is taken as refreshed. Times must not go back.
        """
        if now_s < self._now_s:
            raise ValueError(f"{now_s} is before {self._now_s}, the time of the refresh before")
        self._now_s = now_s
        self._collect()
        if len(self._reached) >= self._most and self._refreshes >= self._most:
            self._set_floor()
        number, index = self._best()
        if index < self._floor:
            self._set_floor()
            number, index = self._best()
        if index <= 0.0:
            return None
        self._reached.remove(number)
        self._refreshed_s[number] = now_s
        self._put(number)
        self._refreshes += 1
        return number

    def learn(self, number: int, rate_per_hour: float, weight: float) -> None:
        """Go on with another estimate of an object's rate, and another weight."""
        _check("rate", np.array([rate_per_hour]), number)
        _check("weight", np.array([weight]), number)
        self._rates[number] = rate_per_hour
        self._weights[number] = weight
        one = slice(number, number + 1)
        self._climb_s[one] = self._climbs_s(self._rates[one], self._weights[one])
        if number not in self._reached:
            self._put(number)

    def _best(self) -> tuple[int, float]:
        """Return the object with the largest index, of those that have reached the floor."""
        if not self._reached:
            return -1, 0.0
        numbers = np.array(self._reached)
        indexes = self._indexes(self._rates[numbers], self._weights[numbers], self._refreshed_s[numbers])
        largest = float(indexes.max())
        return int(numbers[indexes == largest].min()), largest

    def _put(self, number: int) -> None:
        """Note when an object that is not among those compared will be."""
        due_s = float(self._refreshed_s[number] + self._climb_s[number])
        self._due_s[number] = due_s
        if due_s < math.inf:
            heapq.heappush(self._later, (due_s, number))
        if len(self._later) > MOST_ENTRIES * self._due_s.size:
            self._later = list({(due_s, number) for due_s, number in self._later if self._due_s[number] == due_s})
            heapq.heapify(self._later)

    def _collect(self) -> None:
        """Move what is due to what is compared, while there is room."""
        room = max(self._most - len(self._reached), 0)
        until = self._passed + int(self._queue_s[self._passed : self._passed + room].searchsorted(self._now_s, "right"))
        due = self._queue[self._passed : until]
        valid = due[self._due_s[due] == self._queue_s[self._passed : until]]
        self._passed = until
        self._due_s[valid] = math.inf
        self._reached.extend(valid.tolist())
        while self._later and self._later[0][0] <= self._now_s and len(self._reached) < self._most:
            due_s, number = heapq.heappop(self._later)
            if self._due_s[number] == due_s:
                self._due_s[number] = math.inf
                self._reached.append(number)

    def _set_floor(self) -> None:
        """Look at all objects, and set the floor so that the sqrt(n) with the largest indexes have reached it.

        If fewer have an index above 0, these; if none has, no floor.
        """
        indexes = self._indexes(self._rates, self._weights, self._refreshed_s)
        reached = np.flatnonzero(indexes > 0.0)
        if reached.size > self._wanted:
            reached = np.argpartition(indexes, -self._wanted)[-self._wanted :]
        self._floor = float(indexes[reached].min()) if reached.size else math.inf
        self._reached = reached.tolist()
        self._refreshes = 0
        self._climb_s = self._climbs_s(self._rates, self._weights)
        self._due_s = self._refreshed_s + self._climb_s
        self._due_s[reached] = math.inf
        order = np.argsort(self._due_s, kind="stable")
        self._queue = order[: int(np.isfinite(self._due_s).sum())]
        self._queue_s = self._due_s[self._queue]
        self._passed = 0
        self._later = []

    def _indexes(self, rates_per_hour: FloatArray, weights: FloatArray, refreshed_s: FloatArray) -> FloatArray:
        since_h = np.maximum(self._now_s - refreshed_s, 0.0) / HOUR_S
        return refresh_index(rates_per_hour, weights, since_h)

    def _climbs_s(self, rates_per_hour: FloatArray, weights: FloatArray) -> FloatArray:
        if self._floor == math.inf:
            return np.full(rates_per_hour.shape, math.inf)
        climbs_s: FloatArray = (1.0 - EARLY) * HOUR_S * reached_after_h(rates_per_hour, weights, self._floor)
        return climbs_s


def _check(what: str, values: FloatArray, first: int = 0) -> None:
    """Values of objects from number `first` on must be 0 or more, and computable with."""
    wrong = ~((values >= 0.0) & (values <= MOST))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"object {first + i} has the {what} {values[i]}, expected 0 to {MOST:g}")
