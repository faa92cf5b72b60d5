"""The next visits to objects: which, when, and what each is expected to save; with a budget, and politely.

Puts together what the other modules decide: how often (`table`), and at which hours of the day (`timing.exact`). Then
visits to the sites of one owner are moved apart, and what cannot be done in time gives way to what is worth more.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.prefetch.table import ALLOCATIONS
from bestbefore.policies.prefetch.timing.exact import retrieval_points
from bestbefore.policies.prefetch.timing.points import Intensity, expected_delay
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray, IntArray

DAY_H = 24.0
MOST_PER_DAY = 288.0
"""No object is visited more often than every five minutes, whatever the budget."""
LEAST_PER_DAY = 1e-4
"""What would be visited more rarely than every 27 years is not."""
MOST_POINTS = 24
"""An object visited more often than this has evenly spaced visits: within the hours between, the day has no shape."""
WORTHWHILE = 0.95
"""Hours of the day are chosen where they leave at most this share of the delay that even spacing has. Even spacing
begins at the object's last contact, so that objects without a pattern do not all come at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectEstimates:
    """The estimates of n objects."""

    rates_per_hour: FloatArray
    """(n,) updates per hour, 0 or more."""
    profiles: FloatArray
    """(n, 24) the shares of the UTC day in which they are updated, each row with the sum 1."""
    weights_per_hour: FloatArray
    """(n,) requests per hour."""
    last_s: FloatArray
    """(n,) the last contact."""
    owner: IntArray
    """(n,) the number, from 0, of whom politeness is owed to."""


@dataclass(frozen=True, slots=True)
class VisitConstraints:
    """The constraints of a plan."""

    budget_per_day: float
    """Visits, above 0."""
    allocation: str
    """A name of `table.ALLOCATIONS`."""
    interval_s: float
    """Between two visits to what one owner has."""
    evenly: bool = False
    """Whether visits are evenly spaced also where hours of the day would be better."""


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Visits in the order of their times."""

    number: IntArray
    """(v,) of the object."""
    due_s: FloatArray
    """(v,)"""
    gain: FloatArray
    """(v,) requests expected to be answered as the origin would, instead of with what it had before."""
    per_day: FloatArray
    """(n,) how often each object is visited."""


def plan_visits(objects: ObjectEstimates, terms: VisitConstraints, now_s: float, until_s: float) -> Visits:
    """The visits due in (now_s, until_s]; those missed by now are due now.

    Raises ValueError for an unknown allocation, and what that raises.
    """
    per_day = visits_per_day(objects, terms)
    schedule = _Schedule(objects.profiles, per_day, evenly=terms.evenly)
    number: list[int] = []
    due_s: list[float] = []
    gain: list[float] = []
    for i in np.flatnonzero(per_day >= LEAST_PER_DAY).tolist():
        moments = schedule.moments(i, float(objects.last_s[i]), now_s, until_s)
        before = float(objects.last_s[i])
        for k, moment in enumerate(moments):
            after = moments[k + 1] if k + 1 < len(moments) else moment + DAY_S / float(per_day[i])
            number.append(i)
            due_s.append(moment)
            gain.append(
                saved(float(objects.rates_per_hour[i]), float(objects.weights_per_hour[i]), before, moment, after)
            )
            before = moment
    visits = np.array(number, dtype=np.intp), np.array(due_s), np.array(gain)
    return Visits(*_politely(*visits, objects.owner, terms.interval_s, now_s, until_s), per_day)


def visits_per_day(objects: ObjectEstimates, terms: VisitConstraints) -> FloatArray:
    """(n,) the budget as it is allocated, no object above `MOST_PER_DAY` and no owner above what is polite.

    What these limits leave over goes to the other objects, as the allocation says.
    """
    if terms.allocation not in ALLOCATIONS:
        raise ValueError(f"allocation {terms.allocation}: expected one of {', '.join(ALLOCATIONS)}")
    allocate = ALLOCATIONS[terms.allocation]
    rates = objects.rates_per_hour * DAY_H
    weights = objects.weights_per_hour.copy()
    most_of_owner = DAY_S / terms.interval_s if terms.interval_s else math.inf
    fixed = np.zeros(rates.size)
    while True:
        left = terms.budget_per_day - float(fixed.sum())
        if left <= 1e-9 * terms.budget_per_day or not np.any((weights > 0.0) & (rates > 0.0)):
            return fixed
        shares = allocate(rates, weights, left)
        capped = np.minimum(shares, MOST_PER_DAY)
        of_owner, fixed_of_owner = (np.bincount(objects.owner, visits)[objects.owner] for visits in (capped, fixed))
        room = np.maximum(most_of_owner - fixed_of_owner, 0.0)
        factor = np.minimum(1.0, room / np.maximum(of_owner, 1e-300))
        capped = capped * factor
        full = (weights > 0.0) & ((shares > MOST_PER_DAY) | (factor < 1.0))
        if not full.any():
            return fixed + capped
        fixed = np.where(full, capped, fixed)
        weights[full] = 0.0


def saved(rate_per_hour: float, requests_per_hour: float, before_s: float, at_s: float, after_s: float) -> float:
    """Return how many requests a visit saves from an outdated answer, between it and the next one.

    With updates at a rate lambda and requests at w, without the visit at t a request at u would be answered with what
    was current at s, the visit before: outdated with the probability 1 - e^-lambda(u-s) instead of 1 - e^-lambda(u-t).
    Over u from t to the next visit at v: (w / lambda) (1 - e^-lambda(t-s)) (1 - e^-lambda(v-t)).
    """
    if rate_per_hour <= 0.0:
        return 0.0
    missed = -math.expm1(-rate_per_hour * max(at_s - before_s, 0.0) / HOUR_S)
    held = -math.expm1(-rate_per_hour * max(after_s - at_s, 0.0) / HOUR_S)
    return requests_per_hour / rate_per_hour * missed * held


class _Schedule:
    """The times at which objects are visited: the same hours each day, or evenly spaced."""

    def __init__(self, profiles: FloatArray, per_day: FloatArray, *, evenly: bool) -> None:
        self._profiles = profiles
        self._evenly = evenly
        self._per_day = per_day
        self._whole = _whole_numbers(per_day)
        self._solved: dict[tuple[int, bytes], _Points | None] = {}

    def moments(self, i: int, last_s: float, now_s: float, until_s: float) -> list[float]:
        """Return the times of object i after its last contact and up to `until_s`.

        All that were missed count as one, now.
        """
        number = int(self._whole[i])
        points = self._points(i, number) if number <= MOST_POINTS and not self._evenly else None
        if self._per_day[i] < 1.0:
            moments = list(_rarely(i, points, last_s, DAY_S / float(self._per_day[i]), until_s))
        elif points is None:
            spacing_s = DAY_S / number
            first = max(0, math.floor((now_s - last_s) / spacing_s))
            many = math.floor((until_s - last_s) / spacing_s)
            moments = [last_s + k * spacing_s for k in range(max(1, first), many + 1)]
        else:
            moments = points.after(last_s, now_s, until_s)
        moments = [moment for moment in moments if moment <= until_s]
        missed = sum(moment <= now_s for moment in moments)
        return [now_s, *moments[missed:]] if missed else moments

    def _points(self, i: int, number: int) -> "_Points | None":
        """Return the points of an object; None where even spacing is as good."""
        profile = self._profiles[i] / np.max(self._profiles[i])
        key = (number, profile.tobytes())
        if key not in self._solved:
            intensity = Intensity.hourly(profile)
            points = retrieval_points(intensity, number)
            evenly = float(intensity.mass[-1]) * DAY_H / number / 2.0
            worth = float(expected_delay(intensity, points)) <= WORTHWHILE * evenly
            self._solved[key] = _Points(intensity, points) if worth else None
        return self._solved[key]


def _whole_numbers(per_day: FloatArray) -> IntArray:
    """Visits a day as whole numbers of 1 or more; of those above 1 the sum stays, by the largest remainders."""
    whole = np.maximum(np.floor(per_day), 1.0)
    often = np.flatnonzero(per_day >= 1.0)
    remainder = per_day[often] - whole[often]
    surplus = round(float(remainder.sum()))
    whole[often[np.argsort(-remainder, kind="stable")[:surplus]]] += 1.0
    return whole.astype(np.intp)


class _Points:
    """The same moments on each day."""

    def __init__(self, intensity: Intensity, points_h: FloatArray) -> None:
        self._intensity = intensity
        self.hours = points_h
        self._expected = self._between(np.roll(points_h, 1), points_h)
        """The share of the updates of a day expected since the point before each."""

    def _between(self, from_h: FloatArray, to_h: FloatArray) -> FloatArray:
        """The updates expected from one hour of the day to the next time that it is another; a whole day at most."""
        passed = self._intensity.mass_to(to_h) - self._intensity.mass_to(from_h)
        return np.where(to_h > from_h, passed, passed + self._intensity.mass[-1])

    def after(self, last_s: float, now_s: float, until_s: float) -> list[float]:
        """Return the points after the last contact.

        It replaces the first of them if it saw most of what that would have.

        Of those missed only the latest is needed, so at most a day of them is gone through.
        """
        from_s = max(last_s, now_s - DAY_S)
        moments = []
        for day in range(math.floor(from_s / DAY_S), math.floor(until_s / DAY_S) + 1):
            moments += [day * DAY_S + hour * HOUR_S for hour in self.hours.tolist()]
        moments = [moment for moment in moments if from_s < moment <= until_s]
        if moments and moments[0] - last_s < DAY_S and self._is_replaced(moments[0], last_s):
            del moments[0]
        return moments

    def _is_replaced(self, moment_s: float, last_s: float) -> bool:
        """Whether less than half of what the point is there for is expected between the contact and it."""
        hour = moment_s % DAY_S / HOUR_S
        j = int(np.argmin(np.abs(self.hours - hour)))
        unseen = self._between(np.array([last_s % DAY_S / HOUR_S]), self.hours[j : j + 1])
        return bool(unseen[0] < 0.5 * self._expected[j])


def _rarely(i: int, points: _Points | None, last_s: float, spacing_s: float, until_s: float) -> Iterator[float]:
    """The visits, up to `until_s`, to what is visited less than once a day."""
    while (last_s := _following(i, points, last_s, spacing_s)) <= until_s:
        yield last_s


def _following(i: int, points: _Points | None, last_s: float, spacing_s: float) -> float:
    """The visit after a contact: at its hour of the day, a whole number of days later.

    The number is the spacing rounded down or up, so that its mean is the spacing: which of the two follows from the day
    of the contact, and stays so until the next.
    """
    if points is None:
        return last_s + spacing_s
    hour_s = float(points.hours[0]) * HOUR_S
    day = round((last_s - hour_s) / DAY_S)
    return (day + math.floor(spacing_s / DAY_S + _scattered(day, i))) * DAY_S + hour_s


def _scattered(day: int, i: int) -> float:
    """A number in [0, 1) that is as good as random, and always the same for these two (the mixing of splitmix64)."""
    mixed = (day * 0x9E3779B97F4A7C15 + i * 0xBF58476D1CE4E5B9) % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return (mixed ^ mixed >> 31) / 2**64


def _politely(
    number: IntArray, due_s: FloatArray, gain: FloatArray, owner: IntArray, interval_s: float, now_s: float,
    until_s: float,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The visits with at least the interval between those of one owner, each at or after its time, in order.

    Of more than fit before the end the least valuable are left out.
    """
    whose = owner[number]
    fits = math.floor((until_s - now_s) / interval_s) + 1 if interval_s else number.size
    kept: list[IntArray] = [np.empty(0, dtype=np.intp)]
    moved_s = due_s.copy()
    for rows in _by_owner(whose):
        best = rows[np.argsort(-gain[rows], kind="stable")[:fits]]
        rows = best[np.argsort(due_s[best], kind="stable")]
        moved_s[rows] = spread(due_s[rows], interval_s)
        kept.append(rows[moved_s[rows] <= until_s])
    chosen = np.concatenate(kept)
    chosen = chosen[np.argsort(moved_s[chosen], kind="stable")]
    return number[chosen], moved_s[chosen], gain[chosen]


def _by_owner(whose: IntArray) -> Sequence[IntArray]:
    order = np.argsort(whose, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(whose[order])) + 1) if whose.size else []


def spread(due_s: FloatArray, interval_s: float) -> FloatArray:
    """Ascending times moved later, each as little as possible, until at least the interval lies between any two.

    Not earlier: a visit before its moment would miss what it waits for. (Among all such shifts these are the least.)
    """
    steps = np.arange(due_s.size) * interval_s
    return np.asarray(np.maximum.accumulate(due_s - steps) + steps, dtype=np.float64)
