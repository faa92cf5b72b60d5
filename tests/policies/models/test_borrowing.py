"""What little-known objects borrow, and how soon they need it no more."""

import numpy as np
import pytest

from bestbefore.policies.models.borrowing import (
    DEFAULT_PRIOR,
    MOST_MEMBERS,
    STRENGTH,
    group_priors,
    posterior_profiles,
    posterior_rates,
)
from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.models.rates.prior import GammaRate, fitted_prior

GROUP = np.zeros(1, dtype=np.intp)


def test_an_objects_own_history_has_half_of_the_say_after_as_many_hours_as_the_groups():
    prior = GammaRate(2.0, 48.0)
    own = Evidence(updates=12, open_h=48.0)  # 1/4 an hour, beside the group's 1/24
    assert posterior_rates([own], GROUP, [prior]) == pytest.approx([(1 / 4 + 1 / 24) / 2])
    assert posterior_rates([Evidence()], GROUP, [prior]) == pytest.approx([1 / 24])
    long = Evidence(updates=12_000, open_h=48_000.0)
    assert posterior_rates([long], GROUP, [prior]) == pytest.approx([1 / 4], rel=2e-3)


def test_contacts_that_show_only_a_change_count_too():
    (rate,) = posterior_rates([Evidence(changed_h=np.array([10.0, 10.0]), open_h=100.0)], GROUP, [GammaRate(1.0, 24.0)])
    assert 2 / 144 < rate < 6 / 144


def test_a_group_of_enough_members_has_its_own_prior_and_a_small_one_that_of_all():
    fast = [Evidence(updates=n, open_h=10.0) for n in (8, 10, 12, 9, 11)]
    slow = [Evidence(updates=1, open_h=1000.0)] * 2
    priors = group_priors([*fast, *slow], np.array([0] * 5 + [1] * 2))
    assert priors[0] == fitted_prior(sorted(fast, key=lambda seen: seen.open_h, reverse=True))
    assert priors[0].mean_per_hour == pytest.approx(1.0, rel=0.05)
    assert priors[1] == fitted_prior([*slow, *fast])


def test_where_nothing_ever_changed_there_is_a_guess():
    assert group_priors([Evidence(open_h=5.0)], GROUP) == [DEFAULT_PRIOR]
    assert group_priors([Evidence()], GROUP) == [DEFAULT_PRIOR]
    assert group_priors([], np.empty(0, dtype=np.intp)) == []


def test_hours_are_borrowed_until_there_are_enough_of_ones_own():
    counts = np.zeros((3, 24))
    counts[0, 8] = 1000.0
    counts[1, 20] = STRENGTH
    profiles = posterior_profiles(counts, np.array([0, 0, 0]))
    assert np.sum(profiles, axis=1) == pytest.approx([1.0] * 3)
    assert profiles[2].argmax() == 8, "an object without updates has the hours of its group"
    assert profiles[1, 20] == pytest.approx(0.5 + 0.5 * profiles[2, 20])


def test_without_any_update_the_day_is_uniform():
    assert posterior_profiles(np.zeros((1, 24)), GROUP) == pytest.approx(np.full((1, 24), 1 / 24))


def test_a_prior_is_that_of_the_members_observed_longest_also_where_only_changes_were_seen():
    short = [Evidence(updates=n % 7, open_h=10.0) for n in range(MOST_MEMBERS)]
    longer = Evidence(updates=0, changed_h=np.array([5.0]), open_h=6.0)
    (prior,) = group_priors([*short, longer], np.zeros(MOST_MEMBERS + 1, dtype=np.intp))
    assert prior == fitted_prior([longer, *short[:-1]])
    assert prior != fitted_prior(short)


def test_there_is_a_prior_for_each_group_and_no_more():
    groups = np.array([0, 2, 2])
    assert len(group_priors([Evidence()] * 3, groups)) == 3
    assert posterior_profiles(np.ones((3, 24)), groups).shape == (3, 24)
