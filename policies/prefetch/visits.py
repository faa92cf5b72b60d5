"""The plan of the next visits to objects: object, time and expected gain, within a budget and rate limits per owner.

An allocation (`table`) gives the visits per day, `timing.exact` the hours of the day. Then the visits to the sites of
one owner are spaced by at least an interval, and of those that do not fit the least valuable are dropped.
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
"""The most visits to one object: one every five minutes, whatever the budget."""
LEAST_PER_DAY = 1e-4
"""An object with fewer visits per day (one in 27 years) is not visited."""
MOST_POINTS = 24
"""An object with more visits per day than this is visited at even spacing: profiles have one value for each hour."""
WORTHWHILE = 0.95
"""Hours of the day are chosen where the delay is at most this share of the delay with even spacing. Even spacing begins
at the object's last contact, which spreads the visits of objects without a pattern."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectEstimates:
    """Estimates of the change and request rates of n objects."""

    rates_per_hour: FloatArray
    """(n,) updates per hour, 0 or more."""
    profiles: FloatArray
    """(n, 24) the share of updates in each hour of the UTC day, each row with the sum 1."""
    weights_per_hour: FloatArray
    """(n,) requests per hour."""
    last_s: FloatArray
    """(n,) the time of the last contact, Unix seconds."""
    owner: IntArray
    """(n,) the number, from 0, of the owner whose servers the rate limit protects."""


@dataclass(frozen=True, slots=True)
class VisitConstraints:
    """The constraints of a plan."""

    budget_per_day: float
    """Visits per day, above 0."""
    allocation: str
    """A name of `table.ALLOCATIONS`."""
    interval_s: float
    """The least time between two visits to objects of one owner; 0: no limit."""
    evenly: bool = False
    """Whether all visits are evenly spaced, without hours of the day."""


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """v visits, ascending by time."""

    number: IntArray
    """(v,) the number of the object, from 0."""
    due_s: FloatArray
    """(v,) Unix seconds."""
    gain: FloatArray
    """(v,) the expected number of requests that are answered with a current instead of an outdated copy."""
    per_day: FloatArray
    """(n,) visits per day to each object."""


def plan_visits(objects: ObjectEstimates, constraints: VisitConstraints, now_s: float, until_s: float) -> Visits:
    """Plan the visits due in (now_s, until_s]; of an object with missed visits one is due at now_s.

    Raises ValueError for an unknown allocation, and what the allocation raises.
    """
    per_day = visits_per_day(objects, constraints)
    schedule = _Schedule(objects.profiles, per_day, evenly=constraints.evenly)
    number: list[int] = []
    due_s: list[float] = []
    gain: list[float] = []
    for i in np.flatnonzero(per_day >= LEAST_PER_DAY).tolist():
        moments = schedule.moments(i, float(objects.last_s[i]), now_s, until_s)
        before = float(objects.last_s[i])
        for k, moment in enumerate(moments):
            after = moments[k + 1] if k + 1 < len(moments) else moment + DAY_S / float(per_day[i])
            rate, requests = float(objects.rates_per_hour[i]), float(objects.weights_per_hour[i])
            number.append(i)
            due_s.append(moment)
            gain.append(visit_gain(rate, requests, before, moment, after))
            before = moment
    visits = np.array(number, dtype=np.intp), np.array(due_s), np.array(gain)
    return Visits(*_spaced_by_owner(*visits, objects.owner, constraints.interval_s, now_s, until_s), per_day)


def visits_per_day(objects: ObjectEstimates, constraints: VisitConstraints) -> FloatArray:
    """(n,) the allocated visits per day, with at most `MOST_PER_DAY` an object and the interval of each owner kept.

    The budget that these limits leave over is allocated to the other objects.
    """
    if constraints.allocation not in ALLOCATIONS:
        raise ValueError(f"allocation {constraints.allocation}: expected one of {', '.join(ALLOCATIONS)}")
    allocate = ALLOCATIONS[constraints.allocation]
    rates = objects.rates_per_hour * DAY_H
    weights = objects.weights_per_hour.copy()
    most_of_owner = DAY_S / constraints.interval_s if constraints.interval_s else math.inf
    fixed = np.zeros(rates.size)
    while True:
        left = constraints.budget_per_day - float(fixed.sum())
        if left <= 1e-9 * constraints.budget_per_day or not np.any((weights > 0.0) & (rates > 0.0)):
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


def visit_gain(rate_per_hour: float, requests_per_hour: float, before_s: float, at_s: float, after_s: float) -> float:
    """Return the expected number of requests until the next visit that this visit saves from an outdated response.

    With updates at rate lambda and requests at rate w: a request at u is answered with the copy of the visit at t,
    outdated with probability 1 - e^-lambda(u-t); without that visit, with the copy of the visit before, at s, outdated
    with probability 1 - e^-lambda(u-s). The difference, integrated over u from t to the next visit at v, times w, is
    (w / lambda) (1 - e^-lambda(t-s)) (1 - e^-lambda(v-t)).
    """
    if rate_per_hour <= 0.0:
        return 0.0
    missed = -math.expm1(-rate_per_hour * max(at_s - before_s, 0.0) / HOUR_S)
    held = -math.expm1(-rate_per_hour * max(after_s - at_s, 0.0) / HOUR_S)
    return requests_per_hour / rate_per_hour * missed * held


class _Schedule:
    """The visit times of each object: at the same hours each day, or evenly spaced."""

    def __init__(self, profiles: FloatArray, per_day: FloatArray, *, evenly: bool) -> None:
        self._profiles = profiles
        self._evenly = evenly
        self._per_day = per_day
        self._whole = _whole_numbers(per_day)
        self._solved: dict[tuple[int, bytes], _Points | None] = {}

    def moments(self, i: int, last_s: float, now_s: float, until_s: float) -> list[float]:
        """Return the visit times of object i after its last contact and up to `until_s`.

        All missed visits are replaced by one at `now_s`.
        """
        number = int(self._whole[i])
        points = self._points(i, number) if number <= MOST_POINTS and not self._evenly else None
        if self._per_day[i] < 1.0:
            moments = list(_rare_visits(i, points, last_s, DAY_S / float(self._per_day[i]), until_s))
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
        """Return the visiting hours of an object; None where even spacing is as good."""
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
    """Round visits per day to whole numbers of 1 or more; the sum of those above 1 is kept, by largest remainders."""
    whole = np.maximum(np.floor(per_day), 1.0)
    often = np.flatnonzero(per_day >= 1.0)
    remainder = per_day[often] - whole[often]
    surplus = round(float(remainder.sum()))
    whole[often[np.argsort(-remainder, kind="stable")[:surplus]]] += 1.0
    return whole.astype(np.intp)


class _Points:
    """The hours of the day at which an object is visited, the same on each day."""

    def __init__(self, intensity: Intensity, points_h: FloatArray) -> None:
        self._intensity = intensity
        self.hours = points_h
        self._expected = self._between(np.roll(points_h, 1), points_h)
        """(m,) the updates expected between each point and the point before it."""

    def _between(self, from_h: FloatArray, to_h: FloatArray) -> FloatArray:
        """The updates expected from one time of the day to the next occurrence of another, at most a day later."""
        passed = self._intensity.mass_to(to_h) - self._intensity.mass_to(from_h)
        return np.where(to_h > from_h, passed, passed + self._intensity.mass[-1])

    def after(self, last_s: float, now_s: float, until_s: float) -> list[float]:
        """Return the points after the last contact and up to `until_s`, beginning at most a day before `now_s`.

        The first point is left out if the last contact makes it redundant. Of missed points only the latest matters,
        which is why a day of them is enough.
        """
        from_s = max(last_s, now_s - DAY_S)
        moments = []
        for day in range(math.floor(from_s / DAY_S), math.floor(until_s / DAY_S) + 1):
            moments += [day * DAY_S + hour * HOUR_S for hour in self.hours.tolist()]
        moments = [moment for moment in moments if from_s < moment <= until_s]
        if moments and moments[0] - last_s < DAY_S and self._made_redundant(moments[0], last_s):
            del moments[0]
        return moments

    def _made_redundant(self, moment_s: float, last_s: float) -> bool:
        """Whether less than half of the updates that the point waits for are expected after the last contact."""
        hour = moment_s % DAY_S / HOUR_S
        j = int(np.argmin(np.abs(self.hours - hour)))
        unseen = self._between(np.array([last_s % DAY_S / HOUR_S]), self.hours[j : j + 1])
        return bool(unseen[0] < 0.5 * self._expected[j])


def _rare_visits(i: int, points: _Points | None, last_s: float, spacing_s: float, until_s: float) -> Iterator[float]:
    """The visits, up to `until_s`, to an object that is visited less than once a day."""
    while (last_s := _next_rare_visit(i, points, last_s, spacing_s)) <= until_s:
        yield last_s


def _next_rare_visit(i: int, points: _Points | None, last_s: float, spacing_s: float) -> float:
    """The visit after a contact, at the object's hour of the day, a whole number of days later.

    The number of days is the spacing rounded down or up so that its mean is the spacing. The choice is a hash of the
    day of the contact, so that planning again gives the same visit.
    """
    if points is None:
        return last_s + spacing_s
    hour_s = float(points.hours[0]) * HOUR_S
    day = round((last_s - hour_s) / DAY_S)
    return (day + math.floor(spacing_s / DAY_S + _pseudo_random(day, i))) * DAY_S + hour_s


def _pseudo_random(day: int, i: int) -> float:
    """A pseudo-random number in [0, 1) that depends on the arguments alone (the mixing function of splitmix64)."""
    mixed = (day * 0x9E3779B97F4A7C15 + i * 0xBF58476D1CE4E5B9) % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return (mixed ^ mixed >> 31) / 2**64


def _spaced_by_owner(
    number: IntArray, due_s: FloatArray, gain: FloatArray, owner: IntArray, interval_s: float, now_s: float,
    until_s: float,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Delay visits until those to one owner are at least the interval apart; return them in the order of time.

    Of visits that do not fit before `until_s` those with the least gain are left out.
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
    """Delay ascending times, each as little as possible, until any two are at least the interval apart.

    No visit is made earlier, as it would miss the updates that it waits for.
    """
    steps = np.arange(due_s.size) * interval_s
    return np.asarray(np.maximum.accumulate(due_s - steps) + steps, dtype=np.float64)
