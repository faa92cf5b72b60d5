"""The rate of updates after a contact, for a schedule: an estimate that forgets.

A contact sees all updates before it and none after it, so the rate is as of the contact, and the time until the next
one is not a quiet time. Two estimates are averaged:

- the expert with a memory of a day. It is drawn towards the mean rate by one update, so it forgets a busy time within
  days and a silent one at the first updates;
- the mixture of all experts by their weights, where that of gaps counts for the next half day: the chance that an
  update comes, times what may follow it at the median gap. It reacts to bursts at once, and overestimates them.

Together they have 0.94 of the delay of either alone, or less, at one fetch a feed and day on recorded postings.
"""

import math

from bestbefore.policies.models.hazard.experts import day_rate_per_s
from bestbefore.policies.models.hazard.forecast import Forecast, forecast_at
from bestbefore.policies.models.hazard.gaps import gap_mass
from bestbefore.policies.models.hazard.memory import UpdateMemory
from bestbefore.policies.units import DAY_S

AHEAD_S = DAY_S / 2
"""The time for which the gaps count. The delay is within 2 percent of the best between a quarter of a day and a day."""
LEAST_MEDIAN_S = 600.0
"""The least median gap in a burst, so that updates in one second are not taken for a hundred thousand a day."""


def rate_after_contact(memory: UpdateMemory, contact_s: float, prior_per_s: float) -> float:
    """Return the updates per second expected after a contact, not before `memory.at_s`.

    `prior_per_s` is the rate of an object without history.
    """
    now = forecast_at(memory, contact_s, prior_per_s)
    day = day_rate_per_s(now.day_updates, now.day_observed_s, now.lasting_per_s, 1.0)
    gaps = _gap_rate_per_s(now) if now.has_updates else now.lasting_per_s
    weights = now.lasting_weight + now.day_weight + now.gap_weight
    mixed = now.lasting_weight * now.lasting_per_s + now.day_weight * day + now.gap_weight * gaps
    return 0.5 * (day + mixed / weights)


def _gap_rate_per_s(now: Forecast) -> float:
    mass = gap_mass(now.law, now.age_s + AHEAD_S) - gap_mass(now.law, now.age_s)
    following = 0.5 * AHEAD_S / max(math.exp(min(now.law.log_median, 50.0)), LEAST_MEDIAN_S)
    return -math.expm1(-mass) * (1.0 + following) / AHEAD_S
