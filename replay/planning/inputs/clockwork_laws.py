"""The laws of objects that change like clockwork, estimated from a trace of updates."""

import numpy as np

from bestbefore.policies.models.clockwork.beats import PUBLISHED_S, Clockwork
from bestbefore.policies.models.clockwork.detection import find_clockwork
from bestbefore.policies.models.patterns import hourly_counts, profiles
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray
from bestbefore.replay.planning.laws import MOST_MOMENTS

STRENGTH = 24.0
"""The updates, evenly spread over the day, that are added to those of an object with beats in each hour."""


def clockwork_law(times_s: FloatArray, rate: float, period_s: float) -> PotentialUpdates | None:
    """Return the law of an object with these updates and `rate` updates per period, which begins at a midnight.

    All its updates are taken to be at the ends of its beats. None if it does not change like clockwork, or if its beats
    are not those of each period.
    """
    clockwork = find_clockwork(times_s)
    if clockwork is None or period_s % clockwork.period_s or period_s > DAY_S * MOST_MOMENTS:
        return None
    repeats = round(period_s / clockwork.period_s)
    if repeats * len(clockwork.beats) > MOST_MOMENTS:
        return None
    ends_s = np.array([beat.until_s + PUBLISHED_S for beat in clockwork.beats])
    shares = np.outer(_repeated(clockwork, times_s, repeats), [beat.share for beat in clockwork.beats]).ravel()
    moments_s = (np.arange(repeats)[:, None] * clockwork.period_s + ends_s).ravel() % period_s
    at_s, where = np.unique(moments_s, return_inverse=True)
    probabilities = np.minimum(rate * np.bincount(where, weights=shares), 1.0)
    return PotentialUpdates.of(at_s / period_s, probabilities, 1.0)


def _repeated(clockwork: Clockwork, times_s: FloatArray, repeats: int) -> FloatArray:
    """(repeats,) the shares of the updates of the plan's period in the periods of the clockwork."""
    if clockwork.period_s > HOUR_S:
        return np.full(repeats, 1.0 / repeats)
    by_hour = profiles(hourly_counts(times_s)[None], strength=STRENGTH)[0]
    return np.asarray(by_hour[np.arange(repeats) % BINS] * (BINS / repeats))
