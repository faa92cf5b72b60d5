"""The typical rate of a group's members."""

import math

import pytest

from bestbefore.policies.models.member_rates import LEAST_OBSERVED_S, MemberRates, log_interval_micronats
from bestbefore.policies.units import DAY_S


def test_a_group_without_members_is_updated_once_a_day():
    assert MemberRates().per_s() == 1 / DAY_S
    assert MemberRates(-1, 5).per_s() == 1 / DAY_S, "what a damaged store says"


def test_the_rate_is_the_geometric_mean_of_the_members():
    rates = MemberRates(1, log_interval_micronats(2, 1000.0)).plus(MemberRates(1, log_interval_micronats(0, 8000.0)))
    assert rates.per_s() == pytest.approx(math.sqrt(2.5 / 1000.0 * 0.5 / 8000.0), rel=1e-6)


def test_a_member_that_leaves_takes_exactly_what_it_gave():
    group = MemberRates(3, 40_000_001)
    member = MemberRates(1, log_interval_micronats(7, 86400.3))
    assert group.plus(member).plus(member.negative()) == group


@pytest.mark.parametrize("observed_s", [0.0, -5.0, -math.inf, 3.0, LEAST_OBSERVED_S])
def test_a_member_counts_as_observed_for_ten_minutes_at_least(observed_s):
    assert MemberRates(1, log_interval_micronats(1, observed_s)).per_s() == pytest.approx(1.5 / 600.0, rel=1e-6)


def test_a_member_has_at_most_one_update_a_second():
    assert log_interval_micronats(10_000, 1000.0) == 0
