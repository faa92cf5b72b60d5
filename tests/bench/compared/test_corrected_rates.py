import math

import numpy as np
import pytest
from compared.contact_evidence import evidence_at_contacts
from compared.corrected_rates import corrected_from_flags, corrected_from_latest

from bestbefore.policies.models.rates.likelihood import most_likely

HOUR = 3600.0


@pytest.mark.parametrize("changed", range(1, 11))
def test_of_regular_polls_it_is_the_estimator_of_cho_and_garcia_molina(changed: int) -> None:
    outcomes = np.arange(10) < changed
    estimate = corrected_from_flags(np.full(10, 2 * HOUR), outcomes)
    assert estimate.rate_per_hour == pytest.approx(-math.log((10 - changed + 0.5) / 10.5) / 2)


def test_never_found_changed_the_rate_is_0() -> None:
    assert corrected_from_flags(np.full(10, HOUR), np.zeros(10, dtype=bool)).rate_per_hour == 0.0
    nothing = np.full(10, math.nan)
    assert corrected_from_latest(np.full(10, HOUR), np.zeros(10, dtype=bool), nothing).rate_per_hour == 0.0


def test_always_found_changed_at_any_distances_the_rate_is_finite_and_the_interval_that_of_the_likelihood() -> None:
    lengths_s, changed = np.array([0.5, 1.0, 9.0]) * HOUR, np.ones(3, dtype=bool)
    estimate = corrected_from_flags(lengths_s, changed)
    assert math.isfinite(estimate.rate_per_hour)
    assert estimate.low_per_hour == most_likely(evidence_at_contacts(lengths_s, changed)).low_per_hour
    assert estimate.low_per_hour < estimate.rate_per_hour < estimate.high_per_hour == math.inf


def test_it_solves_its_equation_at_irregular_polls() -> None:
    hours, changed = np.array([0.2, 1.0, 3.0, 0.7, 2.0]), np.array([True, False, True, True, False])
    rate = corrected_from_flags(hours * HOUR, changed).rate_per_hour
    p = np.exp(-rate * hours)
    score = np.sum(np.where(changed, hours * p / (1 - p), -hours))
    telling_h = np.sum(hours**3 * p / (1 - p)) / np.sum(hours**2 * p / (1 - p))
    assert score == pytest.approx(telling_h / 2)


def test_where_lengths_differ_by_sixteen_orders_of_magnitude_it_stays_next_to_the_most_likely_rate() -> None:
    estimate = corrected_from_flags(np.array([1e-8, 1e8]) * HOUR, np.ones(2, dtype=bool))
    assert estimate.low_per_hour < estimate.rate_per_hour < math.inf


def test_with_latest_updates_known_it_is_what_one_computes_on_paper() -> None:
    # Four contacts 1 h apart, two changes half an hour before theirs: E = 3, X / E = 2/3, p = exp(-2/3).
    quiet_s = np.array([0.5, 0.5, math.nan, math.nan]) * HOUR
    estimate = corrected_from_latest(np.full(4, HOUR), np.array([True, True, False, False]), quiet_s)
    p = math.exp(-2 / 3)
    assert estimate.rate_per_hour == pytest.approx((2 - 1 + 2 / 3 * p / (1 - p)) / 3)


def test_with_latest_updates_known_it_is_next_to_the_estimator_of_cho_and_garcia_molina_for_regular_polls() -> None:
    random = np.random.default_rng(2)
    quiet_h = random.exponential(4.0, 200)
    changed = quiet_h < 1.0
    estimate = corrected_from_latest(np.full(200, HOUR), changed, np.where(changed, quiet_h, math.nan) * HOUR)
    n, found, seen_h = 200, int(changed.sum()), np.minimum(quiet_h, 1.0).sum()
    theirs = (found - 1 - found / (n * math.log(1 - found / n))) / seen_h
    assert estimate.rate_per_hour == pytest.approx(theirs, rel=1e-3)
    assert abs(estimate.rate_per_hour / (found / seen_h) - 1) > 2e-3


def test_a_change_without_a_date_is_refused_where_dates_are_needed() -> None:
    with pytest.raises(ValueError, match="1 of the changes"):
        corrected_from_latest(np.full(2, HOUR), np.ones(2, dtype=bool), np.array([math.nan, 60.0]))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_the_mean_is_right_to_three_percent_where_that_of_the_likelihood_is_not(rate: float) -> None:
    random = np.random.default_rng(3)
    likely, from_flags, from_latest = [], [], []
    for _ in range(700):
        hours = np.append(random.lognormal(-0.5, 1.0, 39), 0.001)  # the last one, as good as never changed
        quiet_h = random.exponential(1 / rate, 40)
        changed = quiet_h < hours
        likely.append(most_likely(evidence_at_contacts(hours * HOUR, changed)).rate_per_hour)
        from_flags.append(corrected_from_flags(hours * HOUR, changed).rate_per_hour)
        latest_s = np.where(changed, quiet_h, math.nan) * HOUR
        from_latest.append(corrected_from_latest(hours * HOUR, changed, latest_s).rate_per_hour)
    assert np.mean(likely) > 1.02 * rate
    assert np.mean(from_flags) == pytest.approx(rate, rel=0.03)
    assert np.mean(from_latest) == pytest.approx(rate, rel=0.03)
