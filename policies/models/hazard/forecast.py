"""The hazard of the next update from a moment on, as long as there is none: a mixture of the experts.

Each expert has a weight, which falls in the time without updates by the updates that it expected. The factors of the
hour of the day and of the weekend apply to all.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from bestbefore.policies.models.hazard.clock import WEEKEND_PART, is_weekend
from bestbefore.policies.models.hazard.ended import LOG_WEIGHT, ended_mass
from bestbefore.policies.models.hazard.experts import lasting_rate_per_s
from bestbefore.policies.models.hazard.gaps import GapLaw
from bestbefore.policies.models.hazard.memory import UpdateMemory, law_of, quiet_until
from bestbefore.policies.units import BINS

WEEKEND_PSEUDO = 20.0
"""The updates with that share that are added to those of a group, and those with the group's to those of an object."""
WEEKEND_FACTOR, WEEKDAY_FACTOR = 7.0 / 2.0, 7.0 / 5.0
GROUP_PSEUDO = 1.0
"""The updates that are added to those of a group in each hour bin."""


class Profile(NamedTuple):
    """When an object changes: the updates by hour bin of the object and of its group, and the share at weekends."""

    own: Sequence[float]
    """(24,) the updates of the object."""
    of_group: Sequence[float]
    """(24,) the updates of its group."""
    updates: float
    """The sum of `own`."""
    group_updates: float
    """The sum of `of_group`."""
    at_weekends: float
    """The share of updates on Saturdays and Sundays."""


class Forecast(NamedTuple):
    """The experts at a moment. Rates are updates per second."""

    lasting_weight: float
    """The weights are relative to the largest."""
    day_weight: float
    gap_weight: float
    ended_weight: float
    lasting_per_s: float
    """The rate of the expert without decay, and what that with a memory of a day is drawn towards."""
    day_updates: float
    """This and `day_observed_s` are as in `UpdateMemory`."""
    day_observed_s: float
    has_updates: bool
    """Whether there is a law of gaps; else the expert of gaps has the rate of the first."""
    law: GapLaw
    age_s: float
    """The time since the last update."""


def forecast_at(memory: UpdateMemory, t: float, prior_per_s: float) -> Forecast:
    """Return the experts at t, not before `memory.at_s`; `prior_per_s` is the rate of an object without history."""
    now = quiet_until(memory, t)
    ended = LOG_WEIGHT - ended_mass(memory.at_s - memory.last_s, t - memory.last_s)
    has_updates = now.updates > 0.0
    most = max(now.lasting_log_weight, now.day_log_weight, now.gap_log_weight)
    if has_updates and ended > most:
        most = ended
    return Forecast(
        math.exp(now.lasting_log_weight - most),
        math.exp(now.day_log_weight - most),
        math.exp(now.gap_log_weight - most),
        math.exp(ended - most) if has_updates else 0.0,
        lasting_rate_per_s(now.updates, now.observed_s, prior_per_s),
        now.day_updates,
        now.day_observed_s,
        has_updates,
        law_of(memory),
        t - memory.last_s,
    )


def week_factor(profile: Profile, t: float) -> float:
    """The rate on the day of t over the mean rate of a week."""
    return WEEKEND_FACTOR * profile.at_weekends if is_weekend(t) else WEEKDAY_FACTOR * (1.0 - profile.at_weekends)


def group_share(profile: Profile, k: int) -> float:
    """The share of the group's updates that hour bin k has."""
    return (smoothed(profile.of_group, k) + GROUP_PSEUDO) / (profile.group_updates + BINS * GROUP_PSEUDO)


def smoothed(counts: Sequence[float], k: int) -> float:
    """Half of the updates in hour bin k and a quarter of those in each neighbour."""
    return 0.5 * counts[k] + 0.25 * (counts[k - 1 if k else BINS - 1] + counts[k + 1 if k + 1 < BINS else 0])


def hour_factor(updates: float, in_hour: float, share: float, strength: float) -> float:
    """The rate in an hour bin over the mean rate of a day.

    The object has `updates`, of which `in_hour` in the bin; as many as `strength` with the group's `share` are added.
    """
    return BINS * (in_hour + strength * share) / (updates + strength)


def weekend_share(updates: float, at_weekends: float, share: float, observed: float) -> float:
    """The share of updates on Saturdays and Sundays in a whole week, where it is `share` without any.

    `observed` is the part of the time of observation that was such a day: who has seen workdays alone knows nothing of
    weekends.
    """
    on_weekends = (at_weekends + WEEKEND_PSEUDO * share) / (updates * observed + WEEKEND_PSEUDO * WEEKEND_PART)
    on_workdays = (updates - at_weekends + WEEKEND_PSEUDO * (1.0 - share)) / (
        updates * (1.0 - observed) + WEEKEND_PSEUDO * (1.0 - WEEKEND_PART)
    )
    weekend = WEEKEND_PART * on_weekends
    return weekend / (weekend + (1.0 - WEEKEND_PART) * on_workdays)
