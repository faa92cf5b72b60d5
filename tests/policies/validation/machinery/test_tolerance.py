import math

import pytest

from bestbefore.policies.models.demand import first_request, requested
from bestbefore.policies.models.history import History
from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.tolerance import Mass, Price

NOON = 12 * 3600.0


def test_a_mass_is_reached_the_sooner_the_higher_the_rates_are() -> None:
    features = HistoryFeatures(History.of([], 0.0), None, NOON)
    twice_an_hour = [2.0] * 24
    assert Mass(1.0).passage_s(features, HOURLY_S, twice_an_hour, 1.0) == pytest.approx(NOON + 1800.0)
    assert Mass(1.0).passage_s(features, HOURLY_S, twice_an_hour, 4.0) == pytest.approx(NOON + 450.0)


def test_a_mass_at_a_rate_that_falls_with_the_age_is_a_share_of_the_age() -> None:
    features = HistoryFeatures(History.of([], 0.0), None, NOON)
    assert Mass(math.log(2.0)).waning_passage_s(features, NOON - 600.0) == pytest.approx(NOON + 600.0)


def test_under_a_price_a_copy_that_is_requested_more_often_expires_sooner() -> None:
    history = History.of([], 0.0)
    once = first_request(NOON - 3600.0)
    often = once
    for seconds in range(3500, -1, -100):
        often = requested(often, NOON - seconds)
    rarely, busily = (HistoryFeatures(history, None, NOON, demand=demand) for demand in (requested(once, NOON), often))
    for price in (1.0, 5.0):
        by_rate = [Price(price).passage_s(of, HOURLY_S, [0.5] * 24, 1.0) for of in (busily, rarely)]
        by_age = [Price(price).waning_passage_s(of, NOON - 86400.0) for of in (busily, rarely)]
        assert NOON < by_rate[0] < by_rate[1]
        assert NOON < by_age[0] < by_age[1]
    once_an_hour = Price(5.0).passage_s(rarely, HOURLY_S, [1.0] * 24, 1.0)
    assert Price(5.0).passage_s(rarely, HOURLY_S, [0.5] * 24, 2.0) == once_an_hour
