import math

import numpy as np
import pytest
from compared.contact_evidence import evidence_at_contacts

from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.prior import MOST_SHAPE, GammaRate, _digamma, fitted_prior

HOUR = 3600.0


def test_digamma_at_points_known_in_closed_form() -> None:
    euler = 0.57721566490153286
    assert _digamma(1.0) == pytest.approx(-euler, abs=1e-12)
    assert _digamma(0.5) == pytest.approx(-euler - 2 * math.log(2), abs=1e-12)
    assert _digamma(30.0) == pytest.approx(-euler + sum(1 / k for k in range(1, 30)), abs=1e-12)


def test_the_mean_is_the_shape_over_the_hours() -> None:
    assert GammaRate(3.0, 12.0).mean_per_hour == 0.25


@pytest.mark.parametrize("prior", [(0.0, 1.0), (1.0, 0.0), (math.nan, 1.0), (1.0, math.inf)])
def test_shape_and_hours_are_above_0(prior: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must both be above 0"):
        GammaRate(*prior)


@pytest.mark.parametrize(("shape", "hours"), [(0.5, 10.0), (4.0, 2.0)])
def test_it_finds_the_distribution_that_the_members_rates_were_drawn_from(shape: float, hours: float) -> None:
    random = np.random.default_rng(11)
    members = []
    for rate in random.gamma(shape, 1 / hours, 600):
        lengths_h = random.exponential(2.0, 20)
        members.append(evidence_at_contacts(lengths_h * HOUR, random.random(20) < -np.expm1(-rate * lengths_h)))
    prior = fitted_prior(members)
    assert prior.mean_per_hour == pytest.approx(shape / hours, rel=0.1)
    assert prior.shape == pytest.approx(shape, rel=0.25)


def test_complete_histories_give_the_maximum_of_the_negative_binomial() -> None:
    # Counts in equal times: integrated over lambda, n is negative binomial, whose mean is the mean count.
    counts = [0, 1, 1, 2, 4, 7, 0, 3]
    prior = fitted_prior([Evidence(n, 10.0) for n in counts])
    assert prior.mean_per_hour == pytest.approx(np.mean(counts) / 10, rel=1e-3)

    def log_likelihood(shape: float) -> float:
        hours = shape / prior.mean_per_hour
        p = hours / (hours + 10)
        return sum(
            math.lgamma(n + shape) - math.lgamma(shape) + shape * math.log(p) + n * math.log1p(-p) for n in counts
        )

    at_best = log_likelihood(prior.shape)
    assert at_best >= log_likelihood(0.9 * prior.shape)
    assert at_best >= log_likelihood(1.1 * prior.shape)


def test_equal_members_are_believed_no_more_than_the_bound() -> None:
    prior = fitted_prior([Evidence(50, 25.0)] * 8)
    assert prior.shape == pytest.approx(MOST_SHAPE)
    assert prior.mean_per_hour == pytest.approx(2.0, rel=1e-3)


def test_members_of_which_nothing_was_seen_change_nothing() -> None:
    members = [Evidence(3, 4.0), Evidence(1, 9.0), Evidence(0, 5.0)]
    assert fitted_prior([Evidence(), *members, Evidence()]) == fitted_prior(members)


@pytest.mark.parametrize("members", [[], [Evidence()], [Evidence(0, 5.0)], [Evidence(0, 0.0, np.array([1.0]))]])
def test_a_group_that_shows_no_mean_rate_is_refused(members: list[Evidence]) -> None:
    with pytest.raises(ValueError, match="no mean rate"):
        fitted_prior(members)


def test_members_whose_rates_differ_by_orders_of_magnitude_have_a_prior_that_is_wide() -> None:
    members = [Evidence(1000, 1e-6), Evidence(2, 1e4), Evidence(0, 1e5), Evidence(0, 0.0, np.array([1e-7]))]
    prior = fitted_prior(members)
    assert prior.shape < 0.1
    assert 1e6 < prior.mean_per_hour < 1e10
