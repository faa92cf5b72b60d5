import math

import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.estimates import set_own_rates
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.rules.indhist import IndHist

HOUR = 3600.0
DAY = 86400.0
# The paper's object (adaptive, section 3.3.2): over eight days 4, 1, 1, 3 and 2 updates in the hours from 10 to 15.
PER_HOUR = {10: 4, 11: 1, 12: 1, 13: 3, 14: 2}
PAPERS_OBJECT = History.of([d * DAY + (k + 0.5) * HOUR for k, n in PER_HOUR.items() for d in range(n)], 0.0)


def individual_rates_per_hour(history: History, t: float, **given: float) -> list[float]:
    known = HistoryFeatures(history, None, t, **given)
    set_own_rates(known)
    return list(known.by_bin.rates)


def test_the_papers_object_has_the_papers_rates() -> None:
    rates = individual_rates_per_hour(PAPERS_OBJECT, 8 * DAY)
    assert {k: r for k, r in enumerate(rates) if r} == {10: 0.5, 11: 0.125, 12: 0.125, 13: 0.375, 14: 0.25}


def test_the_papers_object_cached_at_half_past_11_expires_at_14_if_0_5625_are_tolerated() -> None:
    # 0.125 of the hour 11 is half gone, and half a bin more was observed on the ninth day.
    t = 8 * DAY + 11.5 * HOUR
    rates = individual_rates_per_hour(PAPERS_OBJECT, t)
    expected = rates[11] / 2 + rates[12] + rates[13]
    assert rates[11] == 1 / 8.5
    assert expected == pytest.approx(0.5625, abs=0.004)
    verdict = IndHist(expected).verdict(PAPERS_OBJECT, None, t)
    assert verdict.reason == "indhist"
    assert verdict.expiry_s == pytest.approx(8 * DAY + 14 * HOUR, abs=0.01)


def test_the_papers_object_cached_in_the_evening_expires_after_ten_the_next_day() -> None:
    # Observed for eight days and 18 hours: nine hours in each bin of the day. 4/9 an hour from 10 on.
    expiry_s = IndHist(0.1).verdict(PAPERS_OBJECT, None, 8 * DAY + 18 * HOUR).expiry_s
    assert expiry_s == pytest.approx(9 * DAY + 10 * HOUR + 0.1 / (4 / 9) * HOUR, abs=0.01)


def test_without_an_update_a_copy_never_expires() -> None:
    assert IndHist().verdict(History.of([], 0.0), None, 5 * DAY).expiry_s == math.inf


def test_a_last_modified_is_in_no_rate() -> None:
    history = History.of([], 1000.0, last_modified_s=500.0)
    assert IndHist().verdict(history, None, 5 * DAY).expiry_s == math.inf


def test_an_update_at_the_first_moment_has_no_exposure_to_be_divided_by() -> None:
    assert IndHist().verdict(History.of([1000.0], 1000.0), None, 1000.0).expiry_s == math.inf


def test_rates_beyond_a_window_are_forgotten_with_their_hours() -> None:
    history = History.of([9.5 * HOUR, 3 * DAY + 9.5 * HOUR], 0.0)
    assert individual_rates_per_hour(history, 4 * DAY)[9] == 2 / 4
    assert individual_rates_per_hour(history, 4 * DAY, window_s=3 * DAY)[9] == 1 / 3


def test_a_bin_hardly_observed_has_the_mean_rate_where_that_is_asked_for() -> None:
    history = History.of([9.25 * HOUR], 9 * HOUR)
    t = 11.5 * HOUR
    assert individual_rates_per_hour(history, t)[9:13] == [1.0, 0.0, 0.0, 0.0]
    assert individual_rates_per_hour(history, t, least_exposure_h=1.0)[9:13] == [1.0, 0.0, 1 / 2.5, 1 / 2.5]


def test_who_tolerates_nothing_validates_always_also_what_was_never_updated() -> None:
    for history in (PAPERS_OBJECT, History.of([], 0.0)):
        assert IndHist(0.0).verdict(history, None, 9 * DAY).expiry_s == 9 * DAY
