"""What is kept of the updates of an object, to estimate the hazard of the next one.

The memory is rewritten when an update becomes known, and only then. A time in which nothing happened is applied when
the memory is read, since decayed counts and times of observation compose: those of two successive times are those of
the whole. So contacts that find an object unchanged leave no trace, and their order does not matter.

Which of the experts (`experts`) is right is judged by the likelihood that each gave to the updates of the object. At
each update the log weight of an expert falls by the integral of its rate over the time observed, and rises by the
logarithm of its rate at the update; then the weights become .98 w + .02/3, so that none is lost for good. Rates here
have the constant prior of one update a day and no factors of the clock, so that they depend on nothing but the object's
updates.

Times are Unix seconds. The functions are compiled unchanged by the fast engine.
"""

import math
from typing import NamedTuple

from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.models.hazard.experts import (
    DAY_MEMORY_S,
    DAY_PSEUDO,
    EXPERTS,
    HOURS_MEMORY_S,
    HOURS_PSEUDO,
    PRIOR_PER_S,
    lasting_mass,
    lasting_rate_per_s,
    recent_mass,
    recent_rate_per_s,
)

SHARED = 0.02
"""The part of the weights that is divided evenly among the experts at each update."""
LEAST_LIKELIHOOD = 1e-300


class UpdateMemory(NamedTuple):
    """What the updates of an object leave behind, as of `at_s`."""

    at_s: float
    """The moment up to which the object has been taken into account: its last update, or t_0."""
    updates: float
    """The number of updates since t_0."""
    observed_s: float
    """The time in which no update can have been missed."""
    day_updates: float
    """As `updates`, decayed with a memory of a day."""
    day_observed_s: float
    """As `observed_s`, decayed with a memory of a day."""
    hours_updates: float
    """As `updates`, decayed with a memory of three hours."""
    hours_observed_s: float
    """As `observed_s`, decayed with a memory of three hours."""
    weekend_updates: float
    """The number of updates on Saturdays and Sundays."""
    lasting_log_weight: float
    """The log weight of the expert without decay."""
    day_log_weight: float
    """The log weight of the expert with a memory of a day."""
    hours_log_weight: float
    """The log weight of the expert with a memory of three hours."""


def memory_since(since_s: float) -> UpdateMemory:
    """Return the memory of an object at t_0, without updates and with equal weights."""
    return UpdateMemory(since_s, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def quiet_until(memory: UpdateMemory, t: float) -> UpdateMemory:
    """Return the memory at t >= `at_s`, if the object was observed and no update happened since."""
    passed_s = t - memory.at_s
    lasting, day, hours = _masses(memory, passed_s)
    day_share, hours_share = math.exp(-passed_s / DAY_MEMORY_S), math.exp(-passed_s / HOURS_MEMORY_S)
    return UpdateMemory(
        t,
        memory.updates,
        memory.observed_s + passed_s,
        memory.day_updates * day_share,
        memory.day_observed_s * day_share + DAY_MEMORY_S * (1.0 - day_share),
        memory.hours_updates * hours_share,
        memory.hours_observed_s * hours_share + HOURS_MEMORY_S * (1.0 - hours_share),
        memory.weekend_updates,
        memory.lasting_log_weight - lasting,
        memory.day_log_weight - day,
        memory.hours_log_weight - hours,
    )


def hidden_until(memory: UpdateMemory, t: float) -> UpdateMemory:
    """Return the memory at t >= `at_s`, if updates since may have been missed: no time of observation is added."""
    passed_s = t - memory.at_s
    day_share, hours_share = math.exp(-passed_s / DAY_MEMORY_S), math.exp(-passed_s / HOURS_MEMORY_S)
    return UpdateMemory(
        t,
        memory.updates,
        memory.observed_s,
        memory.day_updates * day_share,
        memory.day_observed_s * day_share,
        memory.hours_updates * hours_share,
        memory.hours_observed_s * hours_share,
        memory.weekend_updates,
        memory.lasting_log_weight,
        memory.day_log_weight,
        memory.hours_log_weight,
    )


def updated_at(memory: UpdateMemory, t: float, hidden_from_s: float) -> UpdateMemory:
    """Return the memory after an update at t, where `at_s` <= `hidden_from_s` <= t.

    Until `hidden_from_s` the object was observed to be unchanged; from then to t other updates may have been missed.
    Where histories are complete it is t.
    """
    before = hidden_until(quiet_until(memory, hidden_from_s), t)
    lasting, day, hours = _rates_per_s(before)
    return _counted(before, t, math.log(lasting), math.log(day), math.log(hours))


def updated_within(memory: UpdateMemory, after_s: float, by_s: float) -> UpdateMemory:
    """Return the memory at `by_s` after an update in (`after_s`, `by_s`], where `at_s` <= `after_s` < `by_s`.

    The likelihood is that of at least one update in the interval. The update is counted in its middle, and all of the
    interval as observed.
    """
    before = quiet_until(memory, after_s)
    lasting, day, hours = _masses(before, by_s - after_s)
    middle_s = (after_s + by_s) / 2
    middle = _weighing_as(quiet_until(before, middle_s), before)
    counted = _counted(middle, middle_s, _any(lasting), _any(day), _any(hours))
    return _weighing_as(quiet_until(counted, by_s), counted)


def _weighing_as(memory: UpdateMemory, other: UpdateMemory) -> UpdateMemory:
    """The memory with the weights of another: the likelihood of an interval includes the quiet time in it."""
    return UpdateMemory(
        memory.at_s,
        memory.updates,
        memory.observed_s,
        memory.day_updates,
        memory.day_observed_s,
        memory.hours_updates,
        memory.hours_observed_s,
        memory.weekend_updates,
        other.lasting_log_weight,
        other.day_log_weight,
        other.hours_log_weight,
    )


def _masses(memory: UpdateMemory, passed_s: float) -> tuple[float, float, float]:
    """The integrals of the rates of the experts over the time since `at_s`, if nothing happens in it."""
    per_s = lasting_rate_per_s(memory.updates, memory.observed_s, PRIOR_PER_S)
    return (
        lasting_mass(memory.updates, memory.observed_s, PRIOR_PER_S, passed_s),
        recent_mass(memory.day_updates, memory.day_observed_s, DAY_MEMORY_S, DAY_PSEUDO, per_s, passed_s),
        recent_mass(memory.hours_updates, memory.hours_observed_s, HOURS_MEMORY_S, HOURS_PSEUDO, per_s, passed_s),
    )


def _rates_per_s(memory: UpdateMemory) -> tuple[float, float, float]:
    """The rates of the experts at `at_s`."""
    per_s = lasting_rate_per_s(memory.updates, memory.observed_s, PRIOR_PER_S)
    return (
        per_s,
        recent_rate_per_s(memory.day_updates, memory.day_observed_s, DAY_MEMORY_S, DAY_PSEUDO, per_s, 1.0),
        recent_rate_per_s(memory.hours_updates, memory.hours_observed_s, HOURS_MEMORY_S, HOURS_PSEUDO, per_s, 1.0),
    )


def _any(mass: float) -> float:
    """The logarithm of the probability of at least one update where `mass` are expected."""
    return math.log(max(-math.expm1(-mass), LEAST_LIKELIHOOD))


def _counted(memory: UpdateMemory, t: float, lasting: float, day: float, hours: float) -> UpdateMemory:
    """The memory with an update at t = `at_s`, to which the experts gave these log likelihoods."""
    lasting += memory.lasting_log_weight
    day += memory.day_log_weight
    hours += memory.hours_log_weight
    most = max(lasting, day, hours)
    lasting, day, hours = math.exp(lasting - most), math.exp(day - most), math.exp(hours - most)
    scale, shared = (1.0 - SHARED) / (lasting + day + hours), SHARED / EXPERTS
    return UpdateMemory(
        t,
        memory.updates + 1.0,
        memory.observed_s,
        memory.day_updates + 1.0,
        memory.day_observed_s,
        memory.hours_updates + 1.0,
        memory.hours_observed_s,
        memory.weekend_updates + (1.0 if is_weekend(t) else 0.0),
        math.log(lasting * scale + shared),
        math.log(day * scale + shared),
        math.log(hours * scale + shared),
    )
