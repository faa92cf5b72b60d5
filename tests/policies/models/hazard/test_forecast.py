import pytest

from bestbefore.policies.models.hazard.forecast import (
    Profile,
    forecast_at,
    group_share,
    hour_factor,
    smoothed,
    week_factor,
    weekend_share,
)
from bestbefore.policies.models.hazard.memory import memory_since, updated_at
from bestbefore.policies.units import BINS, DAY_S, HOUR_S


def test_without_updates_all_experts_expect_the_prior_rate() -> None:
    forecast = forecast_at(memory_since(0.0), 0.0, 1 / HOUR_S)
    assert forecast[:5] == (1.0, 1.0, 1.0, 0.0, pytest.approx(1 / HOUR_S))
    assert not forecast.has_updates


def test_quiet_time_lowers_the_rate_and_the_weight_of_the_expert_that_expected_most() -> None:
    memory = memory_since(0.0)
    for i in range(1, 11):
        memory = updated_at(memory, DAY_S + 60.0 * i, DAY_S + 60.0 * i)
    soon, late = (forecast_at(memory, memory.at_s + quiet_s, 1 / DAY_S) for quiet_s in (0.0, 5 * HOUR_S))
    assert soon.gap_weight == 1.0
    assert late.gap_weight < soon.gap_weight
    assert late.lasting_per_s < soon.lasting_per_s
    assert (late.law, late.age_s) == (soon.law, 5 * HOUR_S)


def test_an_update_counts_by_half_in_its_own_hour_and_by_a_quarter_in_each_neighbour() -> None:
    counts = [0] * BINS
    counts[23] = 4
    assert [smoothed(counts, k) for k in (22, 23, 0, 1)] == [1.0, 2.0, 1.0, 0.0]
    assert sum(smoothed(counts, k) for k in range(BINS)) == 4.0


def test_the_profile_of_the_day_is_that_of_the_group_until_the_object_has_updates() -> None:
    assert hour_factor(0.0, 0.0, 0.1, 4.0) == pytest.approx(2.4)
    assert hour_factor(24.0, 1.0, 0.1, 4.0) == pytest.approx(BINS * 1.4 / 28)


def test_the_factors_have_the_mean_one() -> None:
    own, of_group = [float(k) for k in range(BINS)], [float(k % 5) for k in range(BINS)]
    profile = Profile(own, of_group, sum(own), sum(of_group), 0.4)
    shares = [group_share(profile, k) for k in range(BINS)]
    assert sum(shares) == pytest.approx(1.0)
    factors = [hour_factor(sum(own), smoothed(own, k), shares[k], 4.0) for k in range(BINS)]
    assert sum(factors) / BINS == pytest.approx(1.0)
    assert sum(week_factor(profile, day * DAY_S) for day in range(7)) / 7 == pytest.approx(1.0)


def test_the_share_of_weekends_is_drawn_towards_what_is_expected() -> None:
    assert weekend_share(0.0, 0.0, 0.3, 2 / 7) == pytest.approx(0.3)
    assert weekend_share(20.0, 20.0, 0.0, 2 / 7) == pytest.approx(0.5)


def test_workdays_tell_nothing_of_weekends() -> None:
    assert weekend_share(3000.0, 0.0, 2 / 7, 0.0) == pytest.approx(2 / 7)
    assert weekend_share(3000.0, 0.0, 2 / 7, 2 / 7) < 0.01
    assert weekend_share(2000.0, 500.0, 2 / 7, 0.25) == pytest.approx(2 / 7, rel=0.01)
