"""Renewal: a copy is validated when the hazard that its object has changed is worth it."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.demand import RequestRates
from bestbefore.policies.models.hazard.clock import WEEKEND_PART, bin_of, weekend_part
from bestbefore.policies.models.hazard.ended import ended_rate_per_s
from bestbefore.policies.models.hazard.experts import day_rate_per_s, day_share
from bestbefore.policies.models.hazard.forecast import (
    Forecast,
    Profile,
    forecast_at,
    group_share,
    hour_factor,
    smoothed,
    week_factor,
    weekend_share,
)
from bestbefore.policies.models.hazard.gaps import gap_mass, gap_rate_per_s
from bestbefore.policies.units import BINS, DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_price, check_range
from bestbefore.policies.validation.machinery.tolerance import PRICE, Mass, Tolerance, price_for
from bestbefore.policies.validation.machinery.verdict import Decision, expires

FIRST_STEP_S = 60.0
LONGEST_S = 160 * DAY_S
"""A lifetime that takes longer is infinite."""
LONGEST_CLOCK_STEP_S = 4 * HOUR_S
"""In longer steps the factors of the clock are 1: they average out."""
LASTING_STRENGTH, RECENT_STRENGTH = 2.0, 4.0
"""How many updates the group's profile of the day counts for, in the expert without decay and in the others."""
LEAST_WEIGHT = 1e-300


def steps_s() -> tuple[float, ...]:
    """Return the steps of integration: each twice the one before, but at most an hour until a day has passed."""
    steps = [FIRST_STEP_S]
    while sum(steps) < LONGEST_S:
        steps.append(2 * steps[-1] if sum(steps) >= DAY_S else min(2 * steps[-1], HOUR_S))
    return tuple(steps)


STEPS_S = steps_s()
STEPS = len(STEPS_S)
MIDDLES_S = tuple(sum(STEPS_S[:i]) + STEPS_S[i] / 2 for i in range(STEPS))
DAY_SHARES = tuple(day_share(middle_s) for middle_s in MIDDLES_S)
"""`day_share` in the middle of each step, which a decision need not compute."""


def set_profile(features: Features) -> Profile:
    """Return the profile of the counted updates of the object and its group, written into `counts` and `hours`."""
    by_bin, memory = features.by_bin, features.update_memory()
    group_updates = features.set_group_counts()
    for k in range(BINS):
        by_bin.hours[k] = by_bin.counts[k] if group_updates else 0
    seen = weekend_part(features.group_since_s(), features.t)
    of_group = weekend_share(group_updates, features.group_weekend_updates(), WEEKEND_PART, seen)
    updates = features.set_counts()
    own_share = weekend_share(
        memory.updates, memory.weekend_updates, of_group, weekend_part(features.known_since_s(), features.t)
    )
    return Profile(by_bin.counts, by_bin.hours, updates, group_updates, own_share)


def passage_s(
    t: float, forecast: Forecast, profile: Profile, requests: RequestRates, tolerance: Tolerance
) -> float:
    """The first t' at which the integral of lambda / x from t reaches 1; infinite if that takes longer than the steps.

    lambda is the hazard of the mixture, x the mass tolerated. Both are taken in the middle of each step.
    """
    lasting_mass = day_mass = gaps_mass = ended_mass = 0.0
    left = 1.0
    passed_s = 0.0
    gaps_before = gap_mass(forecast.law, forecast.age_s)
    for i in range(STEPS):
        step_s, middle_s = STEPS_S[i], MIDDLES_S[i]
        lasting = forecast.lasting_per_s
        day = day_rate_per_s(forecast.day_updates, forecast.day_observed_s, lasting, DAY_SHARES[i])
        gaps = lasting
        if forecast.has_updates:
            gaps_after = gap_mass(forecast.law, forecast.age_s + passed_s + step_s)
            gaps = (gaps_after - gaps_before) / step_s
            gaps_before = gaps_after
        if step_s <= LONGEST_CLOCK_STEP_S:
            moment_s = t + middle_s
            k, week = bin_of(moment_s), week_factor(profile, moment_s)
            in_hour, share = smoothed(profile.own, k), group_share(profile, k)
            recent = week * hour_factor(profile.updates, in_hour, share, RECENT_STRENGTH)
            lasting *= week * hour_factor(profile.updates, in_hour, share, LASTING_STRENGTH)
            day *= recent
            gaps *= recent
        lasting_weight = forecast.lasting_weight * math.exp(-lasting_mass - lasting * step_s / 2)
        day_weight = forecast.day_weight * math.exp(-day_mass - day * step_s / 2)
        gaps_weight = forecast.gap_weight * math.exp(-gaps_mass - gaps * step_s / 2)
        ended = ended_rate_per_s(forecast.age_s + middle_s)
        ended_weight = forecast.ended_weight * math.exp(-ended_mass - ended * step_s / 2)
        weight = lasting_weight + day_weight + gaps_weight + ended_weight
        per_s = min(lasting, day, gaps)
        if weight > LEAST_WEIGHT:
            updates = lasting_weight * lasting + day_weight * day + gaps_weight * gaps + ended_weight * ended
            per_s = updates / weight
        if per_s > 0.0:
            tolerated = tolerance.mass_at(requests, middle_s, per_s)
            if per_s * step_s >= left * tolerated:
                return t + passed_s + left * tolerated / per_s
            left -= per_s * step_s / tolerated
        lasting_mass += lasting * step_s
        day_mass += day * step_s
        gaps_mass += gaps * step_s
        ended_mass += ended * step_s
        passed_s += step_s
    return math.inf


def renewal_expiry_s(features: Features, tolerance: Tolerance) -> float:
    """The moment at which the hazard of the object has reached what is tolerated."""
    profile = set_profile(features)
    forecast = forecast_at(features.update_memory(), features.t, features.group_rate_per_s())
    return passage_s(features.t, forecast, profile, tolerance.request_rates(features), tolerance)


def estimates(features: Features) -> tuple[tuple[float, float], ...]:
    """Return the weight of each expert at t, the sum being 1, and its updates per second at this hour of the week."""
    profile, t = set_profile(features), features.t
    forecast = forecast_at(features.update_memory(), t, features.group_rate_per_s())
    lasting = forecast.lasting_per_s
    gaps = gap_rate_per_s(forecast.law, forecast.age_s) if forecast.has_updates else lasting
    k, week = bin_of(t), week_factor(profile, t)
    in_hour, share = smoothed(profile.own, k), group_share(profile, k)
    recent = week * hour_factor(profile.updates, in_hour, share, RECENT_STRENGTH)
    weights = (forecast.lasting_weight, forecast.day_weight, forecast.gap_weight, forecast.ended_weight)
    rates = (
        lasting * week * hour_factor(profile.updates, in_hour, share, LASTING_STRENGTH),
        day_rate_per_s(forecast.day_updates, forecast.day_observed_s, lasting, 1.0) * recent,
        gaps * recent,
        ended_rate_per_s(forecast.age_s),
    )
    return tuple((weight / sum(weights), per_s) for weight, per_s in zip(weights, rates, strict=True))


@dataclass(frozen=True, slots=True)
class Renewal(Formula):
    """expiry = the first t' with the integral of lambda / x from t reaching 1; x is the mass that the price allows.

    lambda(s), the hazard of the next update s seconds later, is a mixture of the mean rate of the object, of its rate
    with a memory of a day, and of the law of the gaps between its updates (`models.hazard`), each with the object's
    profile of the day and of the week, which are drawn towards those of its group, and of the rate of an object whose
    updates have ended. The weights of the three follow from how well each predicted the updates so far. x follows from
    lambda and from the rate of requests for the copy (`models.price`).

    Source: ours; the mass as in Bright, Gal, Raschid, section 4.3.
    """

    name: ClassVar[str] = "renewal"
    needs: ClassVar[Needs] = Needs.COUNTS | Needs.GROUP | Needs.MEMORY | Needs.DEMAND

    price: float = PRICE
    """The validations that one stale hit is worth, above 0."""

    def __post_init__(self) -> None:
        check_price(self.price)

    def decide(self, features: Features) -> Decision:
        return expires(renewal_expiry_s(features, price_for(features, self.price)))


@dataclass(frozen=True, slots=True)
class MassRenewal(Formula):
    """`Renewal` with x = theta, whatever the requests for the copy."""

    name: ClassVar[str] = Renewal.name
    needs: ClassVar[Needs] = Needs.COUNTS | Needs.GROUP | Needs.MEMORY

    theta: float = 0.1
    """The tolerated mass of expected updates, 0 or more."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)

    def decide(self, features: Features) -> Decision:
        return expires(renewal_expiry_s(features, Mass(self.theta)))
