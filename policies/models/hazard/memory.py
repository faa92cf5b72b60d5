"""What is kept of the updates of an object, to estimate the hazard of the next one.

The memory is rewritten when an update becomes known, and only then. A time in which nothing happened is applied when
the memory is read, since decayed counts and times of observation compose: those of two successive times are those of
the whole. So contacts that find an object unchanged leave no trace, and their order does not matter.

Which of the experts (`experts`, `gaps`) is right is judged by the likelihood that each gave to the updates of the
object. At each update the log weight of an expert falls by the integral of its rate over the time observed, and rises
by the logarithm of its rate at the update; then the weights become .98 w + .02/3, so that none is lost for good. Rates
here have the constant prior of one update a day and no factors of the clock, so that they depend on nothing but the
object's updates.

Times are Unix seconds. The functions are compiled unchanged by the fast engine.
"""

import math
from typing import NamedTuple

from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.models.hazard.experts import (
    EXPERTS,
    PRIOR_PER_S,
    day_mass,
    day_rate_per_s,
    day_share,
    lasting_mass,
    lasting_rate_per_s,
    observed_in_day_s,
)
from bestbefore.policies.models.hazard.gaps import FORGETTING, LEAST_AGE_S, GapLaw, gap_law, gap_mass, gap_rate_per_s

SHARED = 0.02
"""The part of the weights that is divided evenly among the experts at each update."""
LEAST_LIKELIHOOD = 1e-300


class UpdateMemory(NamedTuple):
    """What the updates of an object leave behind, as of `at_s`."""

    at_s: float
    """The moment up to which the object has been taken into account: about its last update, or t_0."""
    last_s: float
    """The last update, or t_0."""
    updates: float
    """The number of updates since t_0."""
    observed_s: float
    """The time in which no update can have been missed."""
    day_updates: float
    """As `updates`, decayed with a memory of a day."""
    day_observed_s: float
    """As `observed_s`, decayed with a memory of a day."""
    gaps: float
    """The number of gaps between updates, as `gaps` counts them."""
    gap_mean_log: float
    """The mean of their logarithms."""
    gap_deviation: float
    """The sum of the squared deviations from it."""
    weekend_updates: float
    """The number of updates on Saturdays and Sundays."""
    lasting_log_weight: float
    """The log weight of the expert without decay."""
    day_log_weight: float
    """The log weight of the expert with a memory of a day."""
    gap_log_weight: float
    """The log weight of the expert of gaps."""


def memory_since(since_s: float) -> UpdateMemory:
    """Return the memory of an object at t_0, without updates and with equal weights."""
    return UpdateMemory(since_s, since_s, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def memory_at_first_contact(modified_s: float) -> UpdateMemory:
    """Return the memory of an object that was last modified before the first contact, as of its last modification.

    Its age is an observation: an update, and nothing in the time since.
    """
    return updated_at(memory_since(modified_s), modified_s, modified_s)


def quiet_until(memory: UpdateMemory, t: float) -> UpdateMemory:
    """Return the memory at t >= `at_s`, if the object was observed and no update happened since."""
    passed_s = t - memory.at_s
    lasting, day, gap = _masses(memory, passed_s)
    share = day_share(passed_s)
    return UpdateMemory(
        t,
        memory.last_s,
        memory.updates,
        memory.observed_s + passed_s,
        memory.day_updates * share,
        observed_in_day_s(memory.day_observed_s, share),
        memory.gaps,
        memory.gap_mean_log,
        memory.gap_deviation,
        memory.weekend_updates,
        memory.lasting_log_weight - lasting,
        memory.day_log_weight - day,
        memory.gap_log_weight - gap,
    )


def hidden_until(memory: UpdateMemory, t: float) -> UpdateMemory:
    """Return the memory at t >= `at_s`, if updates since may have been missed: no time of observation is added."""
    share = day_share(t - memory.at_s)
    return UpdateMemory(
        t,
        memory.last_s,
        memory.updates,
        memory.observed_s,
        memory.day_updates * share,
        memory.day_observed_s * share,
        memory.gaps,
        memory.gap_mean_log,
        memory.gap_deviation,
        memory.weekend_updates,
        memory.lasting_log_weight,
        memory.day_log_weight,
        memory.gap_log_weight,
    )


def updated_at(memory: UpdateMemory, t: float, hidden_from_s: float) -> UpdateMemory:
    """Return the memory after an update at t, where `at_s` <= `hidden_from_s` <= t.

    Until `hidden_from_s` the object was observed to be unchanged; from then to t other updates may have been missed.
    Where histories are complete it is t. The gap since the last update counts if more of the time since was observed
    than not.
    """
    before = hidden_until(quiet_until(memory, hidden_from_s), t)
    lasting = lasting_rate_per_s(before.updates, before.observed_s, PRIOR_PER_S)
    day = day_rate_per_s(before.day_updates, before.day_observed_s, lasting, 1.0)
    gap = gap_rate_per_s(law_of(memory), t - memory.last_s) if memory.updates > 0.0 else lasting
    is_gap_known = t - hidden_from_s <= hidden_from_s - memory.at_s
    return _counted(before, t, is_gap_known, math.log(lasting), math.log(day), math.log(gap))


def updated_within(memory: UpdateMemory, after_s: float, by_s: float) -> UpdateMemory:
    """Return the memory at `by_s` after an update in (`after_s`, `by_s`], where `at_s` <= `after_s` < `by_s`.

    The likelihood is that of at least one update in the interval. The update is counted in its middle, and all of the
    interval as observed. The gap since the last update counts if the interval is the shorter part of it.
    """
    before = quiet_until(memory, after_s)
    lasting, day, gap = _masses(before, by_s - after_s)
    middle_s = (after_s + by_s) / 2
    middle = _weighing_as(quiet_until(before, middle_s), before)
    is_gap_known = by_s - after_s <= after_s - memory.at_s
    counted = _counted(middle, middle_s, is_gap_known, _any(lasting), _any(day), _any(gap))
    return _weighing_as(quiet_until(counted, by_s), counted)


def law_of(memory: UpdateMemory) -> GapLaw:
    """The law of the gaps, drawn towards that of the mean rate as of `at_s`."""
    per_s = lasting_rate_per_s(memory.updates, memory.observed_s, PRIOR_PER_S)
    return gap_law(memory.gaps, memory.gap_mean_log, memory.gap_deviation, per_s)


def _masses(memory: UpdateMemory, passed_s: float) -> tuple[float, float, float]:
    """The integrals of the rates of the experts over the time since `at_s`, if nothing happens in it."""
    per_s = lasting_rate_per_s(memory.updates, memory.observed_s, PRIOR_PER_S)
    lasting = lasting_mass(memory.updates, memory.observed_s, PRIOR_PER_S, passed_s)
    day = day_mass(memory.day_updates, memory.day_observed_s, per_s, passed_s)
    gap = lasting
    if memory.updates > 0.0:
        law, age_s = law_of(memory), memory.at_s - memory.last_s
        gap = gap_mass(law, age_s + passed_s) - gap_mass(law, age_s)
    return lasting, day, gap


def _any(mass: float) -> float:
    """The logarithm of the probability of at least one update where `mass` are expected."""
    return math.log(max(-math.expm1(-mass), LEAST_LIKELIHOOD))


def _weighing_as(memory: UpdateMemory, other: UpdateMemory) -> UpdateMemory:
    """The memory with the weights of another: the likelihood of an interval includes the quiet time in it."""
    return UpdateMemory(
        memory.at_s,
        memory.last_s,
        memory.updates,
        memory.observed_s,
        memory.day_updates,
        memory.day_observed_s,
        memory.gaps,
        memory.gap_mean_log,
        memory.gap_deviation,
        memory.weekend_updates,
        other.lasting_log_weight,
        other.day_log_weight,
        other.gap_log_weight,
    )


def _counted(
    memory: UpdateMemory, t: float, is_gap_known: bool, lasting: float, day: float, gap: float
) -> UpdateMemory:
    """The memory with an update at t = `at_s`, to which the experts gave these log likelihoods."""
    lasting += memory.lasting_log_weight
    day += memory.day_log_weight
    gap += memory.gap_log_weight
    most = max(lasting, day, gap)
    lasting, day, gap = math.exp(lasting - most), math.exp(day - most), math.exp(gap - most)
    scale, shared = (1.0 - SHARED) / (lasting + day + gap), SHARED / EXPERTS
    gaps, mean_log, deviation = memory.gaps, memory.gap_mean_log, memory.gap_deviation
    if is_gap_known and memory.updates > 0.0:
        log_gap = math.log(max(t - memory.last_s, LEAST_AGE_S))
        off = log_gap - mean_log
        gaps = gaps * FORGETTING + 1.0
        mean_log += off / gaps
        deviation = deviation * FORGETTING + off * (log_gap - mean_log)
    return UpdateMemory(
        t,
        t,
        memory.updates + 1.0,
        memory.observed_s,
        memory.day_updates + 1.0,
        memory.day_observed_s,
        gaps,
        mean_log,
        deviation,
        memory.weekend_updates + (1.0 if is_weekend(t) else 0.0),
        math.log(lasting * scale + shared),
        math.log(day * scale + shared),
        math.log(gap * scale + shared),
    )
