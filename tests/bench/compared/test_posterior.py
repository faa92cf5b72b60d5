import math

import numpy as np
import pytest
from compared.contact_evidence import evidence_at_contacts
from compared.posterior import posterior

from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.prior import GammaRate

HOUR = 3600.0


def flags(hours: list[float], changed: list[bool]) -> Evidence:
    return evidence_at_contacts(np.array(hours) * HOUR, np.array(changed, dtype=bool))


def test_of_nothing_seen_the_prior_is_believed() -> None:
    estimate = posterior(Evidence(), GammaRate(1.0, 4.0))  # exponential: quantiles in closed form
    assert estimate.rate_per_hour == pytest.approx(0.25, rel=1e-6)
    assert estimate.low_per_hour == pytest.approx(-math.log(0.975) / 4, rel=2e-3)
    assert estimate.high_per_hour == pytest.approx(-math.log(0.025) / 4, rel=2e-3)


@pytest.mark.parametrize("shape", [0.05, 1.0, 100.0, 1e4])
def test_known_updates_add_to_the_shape_and_open_hours_to_the_hours(shape: float) -> None:
    assert posterior(Evidence(), GammaRate(shape, 7.0)).rate_per_hour == pytest.approx(shape / 7, rel=1e-6)
    assert posterior(Evidence(3, 5.0), GammaRate(shape, 7.0)).rate_per_hour == pytest.approx((shape + 3) / 12, rel=1e-6)


def test_one_interval_with_an_update_has_the_mean_one_finds_on_paper() -> None:
    # Prior e^-x, times 1 - e^-x: mean (1 - 1/4) / (1 - 1/2).
    assert posterior(flags([1.0], [True]), GammaRate(1.0, 1.0)).rate_per_hour == pytest.approx(1.5, rel=1e-6)


def test_many_intervals_have_the_mean_of_the_sum_over_all_ways_to_multiply_out() -> None:
    prior, hours = GammaRate(2.5, 1.5), [0.3, 1.0, 2.0, 0.7]
    top = bottom = 0.0
    for chosen in range(16):
        picked = [h for i, h in enumerate(hours) if chosen >> i & 1]
        sign, rate = (-1) ** len(picked), prior.hours + 4.0 + sum(picked)
        bottom += sign * rate**-2.5
        top += sign * 2.5 * rate**-3.5
    seen = flags([*hours, 4.0], [True] * 4 + [False])
    assert posterior(seen, prior).rate_per_hour == pytest.approx(top / bottom, rel=1e-6)


def test_objects_that_never_or_always_changed_have_finite_rates_between_those_of_their_group_and_their_own() -> None:
    prior = GammaRate(2.0, 4.0)
    never, always = posterior(flags([1.0] * 20, [False] * 20), prior), posterior(flags([1.0] * 20, [True] * 20), prior)
    assert 0.0 < never.low_per_hour < never.rate_per_hour < 0.5 < always.rate_per_hour < always.high_per_hour < 10


def test_the_90_percent_interval_holds_rates_of_the_group_90_times_in_a_hundred() -> None:
    random = np.random.default_rng(8)
    held = 0
    for rate in random.gamma(1.5, 0.5, 500):
        hours = random.exponential(1.0, 12)
        seen = evidence_at_contacts(hours * HOUR, random.random(12) < -np.expm1(-rate * hours))
        estimate = posterior(seen, GammaRate(1.5, 2.0), confidence=0.9)
        held += estimate.low_per_hour <= rate <= estimate.high_per_hour
    assert 0.87 < held / 500 < 0.93
