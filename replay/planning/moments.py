"""The times of contacts within the period of a plan."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.patterns import clusters, most_likely_cluster, profiles
from bestbefore.policies.prefetch.discrete.continued import first_interval
from bestbefore.policies.prefetch.timing.exact import retrieval_points_of_all
from bestbefore.policies.prefetch.timing.points import Intensity, expected_delay
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, optimal_crawls
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.planning.plan import ContactPlan
from bestbefore.replay.sweeps.progress import Bar, no_bar

GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""The golden ratio: the fractional parts of its multiples are evenly spread in (0, 1) for any number of objects."""
STRENGTH = 50.0
"""The weight, in updates, of the common pattern in the pattern of each object. With less weight, delays were longer on
days outside the training data (`tests/bench/held_out.py`)."""
CLUSTERED = 24
"""The least number of updates with which an object takes part in the making of clusters."""
AT_ONCE = 64
"""The number of objects solved between two steps of the progress bar."""


@dataclass(frozen=True, slots=True, eq=False)
class Crawls:
    """The m contacts of one period, ordered by object and time."""

    rows: NDArray[np.intp]
    """(m,) the row of the object, ascending."""
    at_s: FloatArray
    """(m,) the ideal time, seconds from the start of the period, ascending for each object."""
    released: NDArray[np.bool_]
    """(m,) whether the ideal time is a release time, as for contacts at potential updates."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The first two contacts of each object, (n,) seconds of the period; NaN where there is none."""

    first_s: FloatArray
    next_s: FloatArray

    @classmethod
    def spaced(cls, plan: ContactPlan) -> Self:
        """Return contacts at regular intervals, with phases that spread the contacts of all objects evenly."""
        interval_s = np.where(plan.contacts > 0.0, plan.interval_s, np.nan)
        first_s = interval_s * phases(len(interval_s))
        return cls(first_s, first_s + interval_s)

    @classmethod
    def of(cls, crawls: Crawls, at_s: FloatArray, objects: int, period_s: float) -> Self:
        """Make the moments from the contacts of a repeating period, made at `at_s` (m,)."""
        first_s, next_s = np.full(objects, np.nan), np.full(objects, np.nan)
        order = np.lexsort((at_s, crawls.rows))
        rows, times_s = crawls.rows[order], at_s[order]
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        first_s[rows[begins]] = times_s[begins]
        next_s[rows[begins]] = times_s[begins] + period_s
        more = begins[np.diff(begins, append=rows.size) > 1]
        next_s[rows[more]] = times_s[more + 1]
        return cls(first_s, next_s)


@dataclass(frozen=True, slots=True)
class Punctuality:
    """The mean delay of an update, in hours, with and without regard to the daily patterns of updates."""

    evenly_h: float
    """With evenly spaced contacts."""
    at_points_h: float
    """With contacts at the best hours of the day."""


def phases(n: int, first: int = 0) -> FloatArray:
    """(n,) evenly spread phases in [0, 1), of the objects after the `first` ones."""
    return np.asarray(np.arange(first + 1, first + n + 1) * GOLDEN % 1.0, dtype=np.float64)


def evenly(visits: NDArray[np.int64], period_s: float, boundary: Boundary, first: int = 0) -> Crawls:
    """Return contacts at regular intervals.

    With `interval`, n visits cut the period into n + 1 parts; with `periodic`, each object has its own phase, and
    `first` objects lie before these (n,).
    """
    rows = np.repeat(np.arange(visits.size), visits)
    number = np.arange(rows.size) - np.repeat(np.cumsum(visits) - visits, visits)
    earlier, parts = (1.0, visits + 1) if boundary == "interval" else (phases(visits.size, first)[rows], visits)
    return Crawls(rows, (number + earlier) / parts[rows] * period_s, np.zeros(rows.size, dtype=np.bool_))


def following(visits: NDArray[np.int64], since: FloatArray, period_s: float) -> Crawls:
    """Return the contacts of the rest of a period at the best times after those made `since` (n,) before it."""
    rows = np.repeat(np.arange(visits.size), visits)
    number = np.arange(rows.size) - np.repeat(np.cumsum(visits) - visits, visits)
    first = (first_interval(since, visits.astype(np.float64)) - since)[rows]
    at_s = (first + number * (1.0 - first) / visits[rows]) * period_s
    return Crawls(rows, at_s, np.zeros(rows.size, dtype=np.bool_))


def crawls_of(plan: ContactPlan, bar: Bar = no_bar, clustered: int | None = None) -> tuple[Crawls, Punctuality | None]:
    """The contacts of a discrete plan, and their mean delays if daily patterns are used.

    Daily patterns are used if they are known and the plan repeats each day. Quasi-deterministic objects are contacted
    at their potential updates, whatever the pattern of their hours. With `clustered`, the pattern of an object leans on
    that of the likeliest of so many clusters instead of the common one.
    """
    aim, objects = plan.aim, plan.objects
    visits = plan.contacts.astype(np.int64)
    if objects.since is not None:
        return following(visits, objects.since, aim.period_s), None
    crawls = evenly(visits, aim.period_s, aim.boundary)
    starts = np.concatenate(([0], np.cumsum(visits)))
    for row, law in objects.laws.items():
        if isinstance(law, PotentialUpdates) and 0 < visits[row] <= law.times.size:
            crawled = optimal_crawls(law, int(visits[row]), aim.boundary)
            here = slice(int(starts[row]), int(starts[row + 1]))
            crawls.at_s[here] = law.times[crawled] * aim.period_s
            crawls.released[here] = True
    if objects.hourly is None or aim.period_s != DAY_S or aim.boundary != "periodic":
        return crawls, None
    common = common_patterns(objects.hourly, clustered)
    return crawls, _at_hours_of_updates(plan, objects.hourly, common, crawls, bar)


def common_patterns(hourly: NDArray[np.intp], clustered: int | None) -> FloatArray:
    """(n, 24) the pattern on which that of each object leans: that of all, or of its likeliest cluster."""
    common = profiles(hourly.sum(axis=0, keepdims=True))
    known = hourly[hourly.sum(axis=1) >= CLUSTERED]
    if clustered is None or not len(known):
        return np.broadcast_to(common, hourly.shape)
    # Drawn to the common pattern: hours at which few updates were seen would get no contact otherwise.
    found = clusters(profiles(known, common[0], STRENGTH), np.random.default_rng(0), min(clustered, len(known)))
    return found.centroids[most_likely_cluster(hourly, found)]


def _at_hours_of_updates(
    plan: ContactPlan, hourly: NDArray[np.intp], common: FloatArray, crawls: Crawls, bar: Bar
) -> Punctuality | None:
    visits = plan.contacts.astype(np.int64)
    to_place = (visits > 0) & (plan.objects.rates > 0.0)
    to_place[crawls.rows[crawls.released]] = False
    rows = np.flatnonzero(to_place)
    if not rows.size:
        return None
    starts = np.concatenate(([0], np.cumsum(visits)))
    evenly_h, at_points_h = 0.0, 0.0
    with bar("moments", -(-rows.size // AT_ONCE)) as watch:
        for first in watch(iter(range(0, rows.size, AT_ONCE))):
            some = rows[first : first + AT_ONCE]
            patterns = profiles(hourly[some], common[some], STRENGTH)
            schedules = retrieval_points_of_all(patterns, visits[some])
            for row, pattern, points_h in zip(some.tolist(), patterns, schedules, strict=True):
                here = slice(int(starts[row]), int(starts[row + 1]))
                intensity, rate = Intensity.hourly(pattern), float(plan.objects.rates[row])
                evenly_h += rate * float(expected_delay(intensity, crawls.at_s[here] / HOUR_S))
                at_points_h += rate * float(expected_delay(intensity, points_h))
                crawls.at_s[here] = points_h * HOUR_S
    updates = float(plan.objects.rates[rows].sum())
    return Punctuality(evenly_h / updates, at_points_h / updates)
