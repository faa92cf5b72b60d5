"""The four strategies of the paper: uniform, timing only, allocation only, and both.

The paper does not say how feeds with less than one retrieval a day are timed. Its largest delays, 9,120 and 10,073
minutes, are just below a week. So here are two plans with both:

- `both` lasts a week: each feed has a whole number of visits in it, one or more, spread over its days, and each day has
  the best points for its number of visits;
- `both_with_gaps` has a whole number of retrievals each day, at the best points, or one every so many whole days.
"""

import numpy as np

from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.timing.exact import Points, retrieval_points, retrieval_points_of_all
from bestbefore.policies.prefetch.timing.points import Intensity, grid_h
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray, IntArray
from bestbefore.replay.papers.feeds.point_search import refined_points
from bestbefore.replay.papers.feeds.polling import Recurrent, Spaced
from bestbefore.replay.planning.moments import phases

WEEK_DAYS = 7


def papers_points(intensity: Intensity, retrievals: int) -> FloatArray:
    """Return the points by the paper's iterative refinement on half hours."""
    return refined_points(intensity, retrievals, grid_h(intensity, retrievals))


def evenly(per_day: FloatArray) -> Spaced:
    """Schedule evenly spaced retrievals, `per_day` (F,), with evenly spread phases; 0: never."""
    with np.errstate(divide="ignore"):
        spacing = DAY_S / per_day
    return Spaced(np.asarray(phases(per_day.size) * np.where(per_day > 0.0, spacing, 0.0)), spacing)


def uniform(feeds: int, per_day: float) -> Spaced:
    """Schedule the feeds by strategy 1, uniform."""
    return evenly(np.full(feeds, per_day))


def timed(profiles: FloatArray, per_day: int, points: Points = retrieval_points) -> Recurrent:
    """Strategy 2, timing only: the same number for each feed, at the best points of the day."""
    hours = retrieval_points_of_all(profiles, np.full(len(profiles), per_day), points)
    return Recurrent([own * HOUR_S for own in hours], DAY_S)


def divided(rates: FloatArray, weights: FloatArray | None, per_day: float) -> Spaced:
    """Strategy 3, allocation only: theorem 1 with evenly spaced retrievals."""
    return evenly(continuous.delay(rates, weights, per_day * rates.size))


def both(
    rates: FloatArray,
    profiles: FloatArray,
    weights: FloatArray | None,
    per_day: float,
    points: Points = retrieval_points,
) -> Recurrent:
    """Strategy 4, both: theorem 1 in whole visits a week, at the best points of each day."""
    return weekly(whole_visits(rates, weights, round(per_day * WEEK_DAYS * rates.size)), profiles, points)


def both_with_gaps(
    rates: FloatArray,
    profiles: FloatArray,
    weights: FloatArray | None,
    per_day: float,
    points: Points = retrieval_points,
) -> Recurrent:
    """Strategy 4 with theorem 1 in whole retrievals a day, or whole days between two, at the best points of a day."""
    numbers = numbers_and_gaps(rates, weights, per_day * rates.size)
    daily = np.where(numbers > 0.0, np.maximum(numbers, 1.0), 0.0).astype(np.intp)
    hours = retrieval_points_of_all(profiles, daily, points)
    with np.errstate(divide="ignore"):
        gaps = np.where(numbers > 0.0, np.rint(1.0 / np.minimum(numbers, 1.0)), 1.0)
    first = np.floor(gaps * phases(rates.size))
    plans = [(own + day * BINS) * HOUR_S for own, day in zip(hours, first.tolist(), strict=True)]
    return Recurrent(plans, gaps * DAY_S)


def numbers_and_gaps(rates: FloatArray, weights: FloatArray | None, budget: float) -> FloatArray:
    """(F,) retrievals a day, whole or one over a whole number of days, close to theorem 1; at most `budget` in all.

    The frequencies of theorem 1 are rounded after a factor common to all, the largest that keeps the budget.
    """
    exact = continuous.delay(rates, weights, budget)

    def rounded(factor: float) -> FloatArray:
        with np.errstate(divide="ignore"):
            often, seldom = exact * factor, 1.0 / np.rint(1.0 / np.minimum(exact * factor, 1.0))
        return np.where(often < 1.0, seldom, np.rint(often))

    low, high = 0.5, 2.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rounded(middle).sum() <= budget else (low, middle)
    return rounded(low)


def whole_visits(rates: FloatArray, weights: FloatArray | None, budget: int) -> IntArray:
    """(F,) whole visits, 1 or more, with the sum `budget` >= F, close to proportional to sqrt(w lambda).

    Feeds with a share below 1 get 1, and the rest is divided again among the others. The remainder after rounding down
    goes to the feeds with the largest gain of one more visit, w lambda (1/x - 1/(x+1)).
    """
    priority = rates if weights is None else rates * weights
    share = np.ones(rates.size)
    more = np.ones(rates.size, dtype=np.bool_)
    while True:
        share[more] = continuous.delay(priority[more], None, budget - float(np.sum(~more)))
        least = more & (share < 1.0)
        if not np.any(least):
            break
        share[least] = 1.0
        more &= ~least
    visits = np.floor(share + 1e-9).astype(np.intp)  # a whole share may be rounded slightly down
    gain = priority / (visits * (visits + 1.0))
    visits[np.argsort(-gain, kind="stable")[: budget - int(visits.sum())]] += 1
    return visits


def weekly(visits: IntArray, profiles: FloatArray, points: Points = retrieval_points) -> Recurrent:
    """Schedule `visits` (F,) in each week of seven days from a midnight.

    The numbers on the days of a feed differ by at most one; the days with one more are spread over the week, beginning
    on a different day for each feed.
    """
    each, more = np.divmod(visits, WEEK_DAYS)
    fewer_h = retrieval_points_of_all(profiles, each, points)
    more_h = retrieval_points_of_all(profiles, np.where(more > 0, each + 1, 0), points)
    plans = []
    for feed, (fewer, longer, extra) in enumerate(zip(fewer_h, more_h, more.tolist(), strict=True)):
        until = [(day * extra + feed % WEEK_DAYS) // WEEK_DAYS for day in range(WEEK_DAYS + 1)]
        days = [longer if until[day + 1] > until[day] else fewer for day in range(WEEK_DAYS)]
        plans.append(np.concatenate([hours + day * BINS for day, hours in enumerate(days)]) * HOUR_S)
    return Recurrent(plans, WEEK_DAYS * DAY_S)
