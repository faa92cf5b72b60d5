"""The requests for one cached copy, and their rate of late.

Decayed counts weigh a request s seconds ago by e^(-s/T), for a memory T of a day and of 20 minutes. The time of
observation, decayed in the same way, begins at the first request, so that it need not be kept.

Times are Unix seconds. The functions are compiled unchanged by the fast engine.
"""

import math
from typing import NamedTuple

from bestbefore.policies.units import DAY_S

DAY_MEMORY_S = DAY_S
MINUTES_MEMORY_S = 1200.0
PRIOR_PER_S = 6.0 / DAY_S
"""The rate of requests of a copy that was not requested yet."""
DAY_PSEUDO = 0.1
"""The requests at the prior rate that are added to those of a day: few, since rates differ by orders of magnitude."""
MINUTES_PSEUDO = 0.3
"""The requests at the rate of the day that are added to those of the last minutes."""
FADING_S = 3600.0
"""The time after which the rate of the last minutes has largely become that of the day."""
BURST_REQUESTS = 1.3
"""b, the mean number of requests of a burst. That of a single copy is no better: one that is requested every 20 s is in
one burst all day, though its requests come apart."""


class CopyDemand(NamedTuple):
    """The requests for a copy up to `at_s`, the moment of the last one."""

    at_s: float
    since_s: float
    """The moment of the first request."""
    day_requests: float
    """The requests, decayed with a memory of a day."""
    minutes_requests: float
    """The requests, decayed with a memory of 20 minutes."""


class RequestRates(NamedTuple):
    """The rates of requests expected from a moment on: requests per second, s seconds later."""

    day_per_s: float
    """The rate in the long run."""
    minutes_per_s: float
    """The rate at once."""
    burst: float
    """b, the mean number of requests of a burst."""


def first_request(t: float) -> CopyDemand:
    """Return the demand after the first request, at t."""
    return CopyDemand(t, t, 1.0, 1.0)


def requested(demand: CopyDemand, t: float) -> CopyDemand:
    """Return the demand after a further request, at t >= `at_s`."""
    passed_s = t - demand.at_s
    return CopyDemand(
        t,
        demand.since_s,
        demand.day_requests * math.exp(-passed_s / DAY_MEMORY_S) + 1.0,
        demand.minutes_requests * math.exp(-passed_s / MINUTES_MEMORY_S) + 1.0,
    )


def joined(one: CopyDemand, other: CopyDemand) -> CopyDemand:
    """Return the demand of requests for the same copy that were counted in two places, as of the later moment."""
    t = max(one.at_s, other.at_s)
    return CopyDemand(
        t,
        min(one.since_s, other.since_s),
        sum(d.day_requests * math.exp((d.at_s - t) / DAY_MEMORY_S) for d in (one, other)),
        sum(d.minutes_requests * math.exp((d.at_s - t) / MINUTES_MEMORY_S) for d in (one, other)),
    )


def rates_at(demand: CopyDemand, t: float) -> RequestRates:
    """Return the rates of requests expected from t >= `at_s` on."""
    passed_s, known_s = t - demand.at_s, t - demand.since_s
    day = demand.day_requests * math.exp(-passed_s / DAY_MEMORY_S)
    day_s = -DAY_MEMORY_S * math.expm1(-known_s / DAY_MEMORY_S)
    day_per_s = (day + DAY_PSEUDO) / (day_s + DAY_PSEUDO / PRIOR_PER_S)
    minutes = demand.minutes_requests * math.exp(-passed_s / MINUTES_MEMORY_S)
    minutes_s = -MINUTES_MEMORY_S * math.expm1(-known_s / MINUTES_MEMORY_S)
    minutes_per_s = (minutes + MINUTES_PSEUDO) / (minutes_s + MINUTES_PSEUDO / day_per_s)
    return RequestRates(day_per_s, minutes_per_s, BURST_REQUESTS)


def request_rate_per_s(rates: RequestRates, later_s: float) -> float:
    """Return the rate of requests `later_s` seconds after the moment of the rates."""
    return rates.day_per_s + (rates.minutes_per_s - rates.day_per_s) * math.exp(-later_s / FADING_S)
