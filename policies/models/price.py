"""The mass of expected updates that a copy tolerates where a stale hit has a price, and when it is reached.

The price of a stale hit is the number of validations that it is worth.

Validating when the mass since the last contact reaches x minimises (1 + price * expected stale hits) for each contact,
at a constant update rate lambda and request rate rho. Requests come in bursts of b on average. With
kappa = rho / (b lambda),

    b price (kappa (1 - e^-x (1 + x)) + 1 - e^-x) = 1.

Rates change with time: then the copy expires at the first t' with the integral of lambda / x from t reaching 1. The
steps of integration are part of the definition, so that all engines agree: x is taken in the middle of each step.
Functions are plain loops over numbers, so that numba compiles them unchanged.
"""

import math
from collections.abc import MutableSequence, Sequence

from bestbefore.policies.models.demand import RequestRates, request_rate_per_s
from bestbefore.policies.models.hazard.gaps import log_of_one_plus
from bestbefore.policies.models.intensity import day_of, first_passage_s
from bestbefore.policies.units import DAY_S, HOUR_S

FIRST_STEP_S = 300.0
"""The first step of integration, s; each is twice as long as the one before, up to an hour."""
MOST_STEPS = 64
"""The most steps by which `priced_waning_passage_s` integrates; what takes longer, some thousand years, is infinite."""
LEAST_PER_HOUR = 1e-12
"""A rate of updates below this counts as 0."""
LEAST_AGE_S = 1.0
"""An object that changed less than this ago, s, may change again at once."""
CLOSE = 1e-9
"""Below this the start of Newton's method is exact."""
MOST_NEWTON_STEPS = 6
LAST_STEP = 1e-4
LARGEST_PRICE = 1e6


def tolerated_mass(price: float, requests_per_update: float) -> float:
    """x, where b = 1: the solution of price (kappa (1 - e^-x (1 + x)) + 1 - e^-x) = 1; infinite if there is none.

    With k = kappa / (kappa + 1) it is x - ln(1 + k x) = -ln(1 - 1 / (price (kappa + 1))), whose left side grows and is
    convex: Newton's method is above the solution from its first step on. Its start solves the equation to the third
    order in x, so that one to three steps are exact to 1e-8.
    """
    most = price * (requests_per_update + 1.0)
    if most <= 1.0:
        return math.inf
    needed = -log_of_one_plus(-1.0 / most)
    rest = 1.0 / (requests_per_update + 1.0)
    k = 1.0 - rest
    mass = 2.0 * needed / (rest + math.sqrt(rest * rest + 2.0 * k * k * needed))
    if mass > CLOSE:
        mass += k * k * k * mass * mass * mass / 3.0 / (rest + k * k * mass)
        for _ in range(MOST_NEWTON_STEPS):
            step = (mass - log_of_one_plus(k * mass) - needed) / (1.0 - k / (1.0 + k * mass))
            mass -= step
            if abs(step) <= LAST_STEP * mass:  # the error that is left is less than the square of this share
                break
    return mass


def priced_passage_s(
    edges_s: Sequence[float],
    rates_per_hour: MutableSequence[float],
    start_s: float,
    price: float,
    requests: RequestRates,
) -> float:
    """The first t' >= start_s with the integral of lambda / x from start_s reaching 1; infinite if there is none.

    lambda is constant in each segment of the day, as `intensity` defines them. `rates_per_hour` may be overwritten:
    after a day the request rate counts as constant, and whole days are skipped in closed form.
    """
    segments = len(rates_per_hour)
    clock_s = start_s - day_of(start_s) * DAY_S
    k = -1
    for i in range(segments):
        k += edges_s[i] <= clock_s
    used = passed_s = 0.0
    longest_s = FIRST_STEP_S
    while passed_s < DAY_S:
        step_s = edges_s[k + 1] - clock_s
        if rates_per_hour[k] > LEAST_PER_HOUR:
            step_s = min(step_s, longest_s)
            per_s = rates_per_hour[k] / HOUR_S
            mass = priced_mass(price, requests, passed_s + step_s / 2, per_s)
            share = per_s * step_s / mass
            if used + share >= 1.0:
                return start_s + passed_s + (1.0 - used) * mass / per_s
            used += share
        passed_s += step_s
        longest_s = min(2.0 * longest_s, HOUR_S)
        if step_s < edges_s[k + 1] - clock_s:
            clock_s += step_s
        else:
            k = k + 1 if k + 1 < segments else 0
            clock_s = edges_s[k]
    for i in range(segments):
        if rates_per_hour[i] > LEAST_PER_HOUR:
            rates_per_hour[i] /= priced_mass(price, requests, math.inf, rates_per_hour[i] / HOUR_S)
    return first_passage_s(edges_s, rates_per_hour, start_s + passed_s, 1.0 - used)


def priced_waning_passage_s(start_s: float, age_s: float, price: float, requests: RequestRates) -> float:
    """As `priced_passage_s` for the rate 1 / (`age_s` + s) at s after `start_s`, which falls with time."""
    if age_s < LEAST_AGE_S:
        return start_s
    used = passed_s = 0.0
    longest_s = FIRST_STEP_S
    for _ in range(MOST_STEPS):
        begin_s = age_s + passed_s
        step_s = min(longest_s, begin_s / 2)
        middle_s = passed_s + step_s / 2
        mass = priced_mass(price, requests, middle_s, 1.0 / (age_s + middle_s))
        share = math.log1p(step_s / begin_s) / mass
        if used + share >= 1.0:
            return start_s + passed_s + begin_s * math.expm1((1.0 - used) * mass)
        used += share
        passed_s += step_s
        longest_s *= 1.5
    return math.inf


def priced_mass(price: float, requests: RequestRates, after_s: float, updates_per_s: float) -> float:
    """x, `after_s` seconds after the moment of the request rates; may be infinite."""
    per_s = request_rate_per_s(requests, after_s)
    return tolerated_mass(requests.burst * price, per_s / (requests.burst * updates_per_s))
