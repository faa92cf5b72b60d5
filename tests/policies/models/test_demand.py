import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.demand import (
    CopyDemand,
    first_request,
    joined,
    rates_at,
    request_rate_per_s,
    requested,
)
from bestbefore.policies.units import DAY_S, HOUR_S

times = st.lists(st.floats(0.0, 10 * DAY_S), min_size=1, max_size=40).map(sorted)
some = settings(max_examples=100, derandomize=True, deadline=None)


def demand_of(times_s: list[float]) -> CopyDemand:
    demand = first_request(times_s[0])
    for time_s in times_s[1:]:
        demand = requested(demand, time_s)
    return demand


@given(times)
@some
def test_counts_weigh_each_request_by_its_age(times_s: list[float]) -> None:
    demand, t = demand_of(times_s), times_s[-1]
    assert demand.day_requests == pytest.approx(sum(math.exp((s - t) / DAY_S) for s in times_s))
    assert demand.minutes_requests == pytest.approx(sum(math.exp((s - t) / 1200) for s in times_s))


def test_a_copy_requested_once_may_be_requested_often() -> None:
    rates = rates_at(first_request(5.0), 5.0)
    assert rates.day_per_s == pytest.approx(66 / DAY_S)
    assert rates.burst == 1.3


def test_the_rates_follow_steady_requests_and_fall_when_they_end() -> None:
    demand = demand_of([60.0 * i for i in range(7 * 1440)])
    rates = rates_at(demand, demand.at_s)
    assert rates.day_per_s == pytest.approx(1440.1 / (DAY_S + DAY_S / 60), rel=0.01)
    assert rates.minutes_per_s * 60 == pytest.approx(1.0, rel=0.04)
    later = rates_at(demand, demand.at_s + HOUR_S)
    assert later.minutes_per_s < later.day_per_s < rates.day_per_s


def test_the_rate_of_the_last_minutes_fades_into_that_of_the_day() -> None:
    rates = rates_at(demand_of([DAY_S + 10.0 * i for i in range(50)]), DAY_S + 490.0)
    assert request_rate_per_s(rates, 0.0) == pytest.approx(rates.minutes_per_s)
    assert request_rate_per_s(rates, 100 * HOUR_S) == pytest.approx(rates.day_per_s)


@given(times, times)
@some
def test_requests_counted_in_two_places_are_added(one: list[float], other: list[float]) -> None:
    both, added = demand_of(sorted(one + other)), joined(demand_of(one), demand_of(other))
    assert added == pytest.approx(both)
