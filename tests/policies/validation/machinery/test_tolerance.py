import math

import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.tolerance import Mass

NOON = 12 * 3600.0


def test_a_mass_is_reached_the_sooner_the_higher_the_rates_are() -> None:
    features = HistoryFeatures(History.of([], 0.0), None, NOON)
    twice_an_hour = [2.0] * 24
    assert Mass(1.0).passage_s(features, HOURLY_S, twice_an_hour, 1.0) == pytest.approx(NOON + 1800.0)
    assert Mass(1.0).passage_s(features, HOURLY_S, twice_an_hour, 4.0) == pytest.approx(NOON + 450.0)


def test_a_mass_at_a_rate_that_falls_with_the_age_is_a_share_of_the_age() -> None:
    features = HistoryFeatures(History.of([], 0.0), None, NOON)
    assert Mass(math.log(2.0)).waning_passage_s(features, NOON - 600.0) == pytest.approx(NOON + 600.0)
