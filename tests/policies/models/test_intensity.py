import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.intensity import (
    HOURLY_S,
    TOLERANCE,
    day_of,
    exposure_h,
    first_passage_s,
    mass,
    observed_rates_per_hour,
)

HOUR = 3600
DAY = 86400
few = settings(max_examples=100, derandomize=True, deadline=None)
moments = st.integers(0, 40 * DAY)
rates = st.lists(st.sampled_from([0.0, 0.0, 0.01, 0.125, 0.5, 7.0]), min_size=24, max_size=24)

# "Aggregate Update History for the World Cup trace" (adaptive, Table 1), updates per hour of all objects.
WORLD_CUP_EDGES_S = [h * 3600.0 for h in (0, 7, 10, 14, 15, 17, 19, 22, 23, 24)]
WORLD_CUP_PER_HOUR = [23.81, 52.07, 83.40, 98.53, 65.23, 84.27, 35.40, 83.40, 35.40]


def hourly(**per_hour: float) -> list[float]:
    return [per_hour.get(f"h{k}", 0.0) for k in range(24)]


def test_the_papers_object_with_one_percent_of_the_updates_expects_1_95_from_1_to_8() -> None:
    scaled = [0.01 * rate for rate in WORLD_CUP_PER_HOUR]
    assert mass(WORLD_CUP_EDGES_S, scaled, 1 * HOUR, 8 * HOUR) == pytest.approx(0.2381 * 6 + 0.5207)
    assert round(mass(WORLD_CUP_EDGES_S, scaled, 1 * HOUR, 8 * HOUR), 2) == 1.95


def test_the_papers_object_expects_0_5625_from_half_past_11_to_14() -> None:
    rates = hourly(h10=0.5, h11=0.125, h12=0.125, h13=0.375, h14=0.25)
    assert mass(HOURLY_S, rates, 11.5 * HOUR, 14 * HOUR) == 0.5625


def test_the_papers_object_reaches_0_5_two_thirds_into_the_hour_before_14() -> None:
    rates = hourly(h10=0.5, h11=0.125, h12=0.125, h13=0.375, h14=0.25)
    passage_s = first_passage_s(HOURLY_S, rates, 11.5 * HOUR, 0.4375)
    assert passage_s == pytest.approx(13 * HOUR + 2 / 3 * HOUR, abs=0.01)


def test_exposure_of_a_day_and_a_half() -> None:
    hours = exposure_h(HOURLY_S, 10.5 * HOUR, DAY + 22.25 * HOUR)
    assert hours[10] == 1.5
    assert hours[22] == 1.25
    assert hours[23] == hours[0] == hours[9] == 1.0
    assert hours[11] == hours[21] == 2.0


def walked_exposure(edges: Sequence[float], start: int, end: int) -> list[Fraction]:
    """Second boundaries one after another, in whole seconds."""
    seconds = [0] * (len(edges) - 1)
    at = start
    while at < end:
        k = max(i for i in range(len(edges) - 1) if edges[i] <= at % DAY)
        until = min(end, at - at % DAY + int(edges[k + 1]))
        seconds[k] += until - at
        at = until
    return [Fraction(s, HOUR) for s in seconds]


@given(st.sampled_from([HOURLY_S, WORLD_CUP_EDGES_S]), moments, moments)
@few
def test_exposure_equals_a_walk_from_edge_to_edge(edges: Sequence[float], a: int, b: int) -> None:
    start, end = min(a, b), max(a, b)
    assert exposure_h(edges, start, end) == [float(h) for h in walked_exposure(edges, start, end)]


@given(rates, moments, st.sampled_from([0.05, 0.1, 0.2, 1.0, 3.0]))
@few
def test_the_passage_is_the_first_moment_at_which_the_mass_reaches_theta(
    per_hour: list[float], start: int, theta: float
) -> None:
    passage_s = first_passage_s(HOURLY_S, per_hour, start, theta)
    if not any(per_hour):
        assert passage_s == math.inf
        return
    assert mass(HOURLY_S, per_hour, start, passage_s) == pytest.approx(theta, rel=1e-8)
    assert mass(HOURLY_S, per_hour, start, passage_s - 1.0) < theta * (1.0 - TOLERANCE)


def walked_passage(edges: Sequence[float], per_hour: Sequence[float], start: int, theta: float) -> Fraction:
    """Exact: from segment to segment, day after day."""
    needed = Fraction(theta) * (1 - Fraction(1, 10**9))
    at = Fraction(start)
    while True:
        clock = at % DAY
        k = max(i for i in range(len(edges) - 1) if edges[i] <= clock)
        rate = Fraction(per_hour[k]) / HOUR
        gain = rate * (Fraction(edges[k + 1]) - clock)
        if gain >= needed:
            return at + needed / rate
        needed -= gain
        at += Fraction(edges[k + 1]) - clock


@given(
    st.sampled_from([HOURLY_S, WORLD_CUP_EDGES_S]),
    rates.filter(lambda r: sum(r[:9]) > 0.1),
    moments,
    st.sampled_from([0.05, 0.1, 0.125, 0.2, 0.5, 1.0, 3.0]),
)
@few
def test_the_passage_equals_an_exact_walk(
    edges: Sequence[float], per_hour: list[float], start: int, theta: float
) -> None:
    per_hour = per_hour[: len(edges) - 1]
    exact = walked_passage(edges, per_hour, start, theta)
    assert first_passage_s(edges, per_hour, start, theta) == pytest.approx(float(exact), rel=0, abs=1e-4)


def test_where_the_mass_stands_still_at_theta_the_passage_is_when_it_got_there() -> None:
    noon = hourly(h12=0.1)
    assert first_passage_s(HOURLY_S, noon, 10 * HOUR, 0.1) == pytest.approx(13 * HOUR, abs=1e-3)
    # A whole number of days' mass, from an hour at which nothing happens; below also without the tolerance's help.
    assert first_passage_s(HOURLY_S, noon, 20 * HOUR, 0.3) == pytest.approx(3 * DAY + 13 * HOUR, abs=1e-3)
    to_the_last_bit = 0.5 / (1 - TOLERANCE)
    assert to_the_last_bit * (1 - TOLERANCE) == 0.5
    assert first_passage_s(HOURLY_S, hourly(h12=0.5), 20 * HOUR, to_the_last_bit) == DAY + 13 * HOUR


@pytest.mark.parametrize("hour", [0, 2, 6, 12, 18])
def test_the_mass_of_a_day_is_reached_with_its_last_update_though_sums_are_rounded(hour: int) -> None:
    rates = [0.0 if k == hour else 1 / (24 - k) for k in range(24)]  # their sum differs with the order
    theta = sum(rates) / (1 - TOLERANCE)
    assert first_passage_s(HOURLY_S, rates, hour * HOUR, theta) == pytest.approx(DAY + hour * HOUR, abs=1e-3)


def test_whole_days_are_skipped_however_many() -> None:
    rates = hourly(h0=1e-6)
    assert first_passage_s(HOURLY_S, rates, 0.0, 0.1) == pytest.approx(99_999 * DAY + HOUR, abs=1)


def test_nothing_is_passed_without_updates_nor_in_a_million_years() -> None:
    assert first_passage_s(HOURLY_S, hourly(), 5.0, 0.1) == math.inf
    assert first_passage_s(HOURLY_S, hourly(h3=1e-300), 5.0, 0.1) == math.inf
    assert first_passage_s(HOURLY_S, hourly(h3=1.0), 5.0, 1e300) == math.inf


def test_a_theta_of_zero_is_passed_at_once() -> None:
    assert first_passage_s(HOURLY_S, hourly(h3=1.0), 5.5, 0.0) == 5.5
    assert first_passage_s(HOURLY_S, hourly(), 5.5, 0.0) == 5.5


@given(rates, moments, st.integers(1, 10_000), st.sampled_from([0.1, 0.2, 1.0]))
@few
def test_a_shift_by_whole_days_shifts_the_passage(per_hour: list[float], start: int, days: int, theta: float) -> None:
    here = first_passage_s(HOURLY_S, per_hour, start, theta)
    assert first_passage_s(HOURLY_S, per_hour, start + days * DAY, theta) - days * DAY == pytest.approx(here, abs=1e-5)


def test_a_rate_is_the_count_over_the_hours_observed() -> None:
    assert observed_rates_per_hour([4, 1, 0], [8.0, 0.5, 2.0], 0.0) == [0.5, 2.0, 0.0]


def test_what_was_not_observed_has_no_rate() -> None:
    assert observed_rates_per_hour([4, 1], [8.0, 0.0], 0.0) == [0.5, 0.0]
    assert observed_rates_per_hour([1], [0.0], 1.0) == [0.0]


def test_what_was_hardly_observed_has_the_mean_rate() -> None:
    assert observed_rates_per_hour([4, 1, 0], [8.0, 0.5, 1.5], 1.0) == [0.5, 0.5, 0.0]
    assert observed_rates_per_hour([2, 1], [4.0, 0.0], 1.0) == [0.5, 0.75]


midnights_s = st.integers(-20_000, 40_000).map(lambda n: n * 86400.0)


@given(st.floats(-1e9, 4e9) | midnights_s | midnights_s.map(lambda t: math.nextafter(t, -math.inf)))
@few
def test_the_day_is_that_of_a_division_with_remainder(t: float) -> None:
    day, clock_s = divmod(t, 86400.0)
    assert day_of(t) == day
    assert t - day_of(t) * 86400.0 == clock_s
