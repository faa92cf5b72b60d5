import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.models.demand import RequestRates
from bestbefore.policies.models.intensity import HOURLY_S, first_passage_s
from bestbefore.policies.models.price import (
    LARGEST_PRICE,
    priced_passage_s,
    priced_waning_passage_s,
    tolerated_mass,
)

HOUR = 3600.0
DAY = 86400.0
NOON = 5 * DAY + 12 * HOUR
STEADY = RequestRates(0.01, 0.01, 1.0)
NONE = RequestRates(0.0, 0.0, 1.0)


@given(st.floats(0.0, 1e6), st.floats(1e-3, LARGEST_PRICE))
def test_the_mass_solves_the_equation_where_it_has_a_solution(kappa: float, price: float) -> None:
    x = tolerated_mass(price, kappa)
    if price * (kappa + 1.0) <= 1.0:
        assert x == math.inf
    elif x > 1e-4:  # below, the left side cancels
        assert price * (kappa * (1.0 - math.exp(-x) * (1.0 + x)) - math.expm1(-x)) == pytest.approx(1.0, rel=1e-6)
    else:
        assert price * (kappa * x * x / 2 + x) == pytest.approx(1.0, rel=2e-4)


def test_its_limits_are_those_of_many_requests_and_of_none() -> None:
    assert tolerated_mass(2.0, 1e9) == pytest.approx(math.sqrt(2 / (2.0 * 1e9)), rel=1e-4)
    assert tolerated_mass(2.0, 0.0) == pytest.approx(math.log(2.0))
    assert tolerated_mass(0.0, 5.0) == math.inf


def test_at_constant_rates_the_mass_is_tolerated_as_it_is() -> None:
    expiry_s = priced_passage_s(HOURLY_S, [0.5] * 24, NOON, 2.0, STEADY)
    x = tolerated_mass(2.0, 0.01 / (0.5 / HOUR))
    assert expiry_s == pytest.approx(first_passage_s(HOURLY_S, [0.5] * 24, NOON, x))


def test_requests_now_make_a_copy_expire_sooner_than_the_same_rate_in_the_long_run_would() -> None:
    busy, quiet = RequestRates(0.001, 0.1, 1.0), RequestRates(0.001, 0.001, 1.0)
    at_first, later = (priced_passage_s(HOURLY_S, [0.5] * 24, NOON, 2.0, requests) for requests in (busy, quiet))
    assert at_first < later
    assert priced_waning_passage_s(NOON, DAY, 2.0, busy) < priced_waning_passage_s(NOON, DAY, 2.0, quiet)


def test_an_hour_in_which_nothing_happens_is_passed_over() -> None:
    at_three = [2.0 if hour == 3 else 0.0 for hour in range(24)]
    expiry_s = priced_passage_s(HOURLY_S, list(at_three), NOON, 3.0, STEADY)
    assert 6 * DAY + 3 * HOUR < expiry_s < 6 * DAY + 4 * HOUR
    assert priced_passage_s(HOURLY_S, [0.0] * 24, NOON, 3.0, STEADY) == math.inf


def test_what_takes_more_than_a_day_goes_on_in_whole_days() -> None:
    at_three = [0.01 if hour == 3 else 0.0 for hour in range(24)]
    expiry_s = priced_passage_s(HOURLY_S, list(at_three), NOON, 2.0, NONE)
    # Without requests x is ln 2 in each hour, of which a hundredth comes in one hour of each day.
    assert expiry_s == pytest.approx(first_passage_s(HOURLY_S, at_three, NOON, math.log(2.0)), abs=1.0)
    assert expiry_s > NOON + 69 * DAY


@given(st.floats(1.0, 1e7), st.floats(1.5, 100.0))
def test_without_requests_a_rate_that_falls_with_the_age_makes_a_share_of_the_age(age_s: float, price: float) -> None:
    alpha = math.expm1(tolerated_mass(price, 0.0))
    expiry_s = priced_waning_passage_s(NOON, age_s, price, NONE)
    assert expiry_s == pytest.approx(NOON + alpha * age_s, abs=1e-3 + 1e-8 * age_s)
    assert priced_waning_passage_s(NOON, 0.0, price, NONE) == NOON


@given(st.lists(st.floats(0.0, 3.0), min_size=24, max_size=24), st.floats(0.1, 100.0), st.floats(1.0, 5.0))
def test_the_dearer_a_stale_hit_is_the_sooner_a_copy_expires(rates: list[float], price: float, more: float) -> None:
    cheap = priced_passage_s(HOURLY_S, list(rates), NOON, price, STEADY)
    dear = priced_passage_s(HOURLY_S, list(rates), NOON, price * more, STEADY)
    assert NOON <= dear <= cheap
