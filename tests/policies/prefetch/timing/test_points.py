"""Intensities, expected delays and grids, by examples that can be done on paper and by integration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.timing.points import (
    Intensity,
    checked_grid,
    delay_slopes,
    expected_delay,
    grid_h,
    uniform_points,
)

FIGURE_4 = Intensity.of([0, 1, 2], [1, 0])
"""Example 1 of `feeds`: one posting an hour in the first of two hours."""


@st.composite
def intensities(draw):
    rates = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=6))
    widths = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(rates), max_size=len(rates)))
    return Intensity.of(np.concatenate(([0.0], np.cumsum(widths))), rates)


def integrated_delay(intensity, points):
    """The area under the number of postings that wait, by the midpoint rule."""
    t = (np.arange(40_000) + 0.5) / 40_000 * intensity.period_h
    rate = intensity.rates_per_hour[np.searchsorted(intensity.edges_h, t, side="right") - 1]
    next_point = np.append(points, points[0] + intensity.period_h)[np.searchsorted(points, t)]
    return float(np.mean(rate * (next_point - t)) * intensity.period_h)


def test_example_1_costs_a_half_after_the_activity_and_three_halves_before_it():
    assert expected_delay(FIGURE_4, [1.0]) == 0.5
    assert expected_delay(FIGURE_4, [0.0]) == 1.5


def test_a_constant_rate_costs_half_of_the_squared_gaps():
    constant = Intensity.of([0, 24], [2.0])
    assert expected_delay(constant, [6.0, 12.0]) == 2.0 * (6.0**2 + 18.0**2) / 2.0


def test_delays_of_many_sets_of_points_are_those_of_each():
    sets = np.array([[0.0, 1.0], [0.5, 1.0], [0.5, 1.5]])
    assert expected_delay(FIGURE_4, sets).tolist() == [float(expected_delay(FIGURE_4, points)) for points in sets]


@given(intensities(), st.lists(st.floats(0.0, 0.999), min_size=1, max_size=5, unique=True))
@settings(max_examples=60, derandomize=True)
def test_the_delay_is_the_area_under_the_postings_that_wait(intensity, shares):
    points = np.sort(np.array(shares)) * intensity.period_h
    assert expected_delay(intensity, points) == pytest.approx(integrated_delay(intensity, points), abs=2e-3)


@given(intensities(), st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5, unique=True))
@settings(max_examples=60, derandomize=True)
def test_slopes_are_those_of_the_delay_on_either_side(intensity, shares):
    points = np.unique(np.round(np.array(shares), 3)) * intensity.period_h
    left, right = delay_slopes(intensity, points)
    h = 1e-7
    delay = float(expected_delay(intensity, points))
    for j in range(points.size):
        shift = h * (np.arange(points.size) == j)
        assert (expected_delay(intensity, points + shift) - delay) / h == pytest.approx(right[j], abs=1e-5)
        assert (delay - expected_delay(intensity, points - shift)) / h == pytest.approx(left[j], abs=1e-5)


def test_a_fall_of_the_rate_is_a_change_of_sign_where_equation_2_has_no_root():
    left, right = delay_slopes(FIGURE_4, np.array([1.0]))
    assert (left.tolist(), right.tolist()) == ([-1.0], [1.0])


def test_uniform_points_are_equally_spaced():
    assert uniform_points(24.0, 4).tolist() == [0.0, 6.0, 12.0, 18.0]
    assert uniform_points(24.0, 2, first_h=3.0).tolist() == [3.0, 15.0]
    with pytest.raises(ValueError, match="0 retrievals"):
        uniform_points(24.0, 0)


@given(intensities(), st.integers(1, 40))
@settings(max_examples=60, derandomize=True)
def test_the_grid_holds_all_edges_and_points_enough(intensity, retrievals):
    grid = grid_h(intensity, retrievals)
    assert set(intensity.edges_h[:-1].tolist()) <= set(grid.tolist())
    assert checked_grid(intensity, retrievals, grid).size >= retrievals


def test_the_grid_has_half_hours_and_finer_steps_for_many_retrievals():
    day = Intensity.hourly(np.ones(24))
    assert grid_h(day, 1).tolist() == np.arange(0.0, 24.0, 0.5).tolist()
    assert grid_h(day, 24).tolist() == pytest.approx((np.arange(144) / 6).tolist())


@pytest.mark.parametrize(
    ("edges", "rates", "message"),
    [
        ([0, 1, 2], [1, -1], "rate 1 is -1"),
        ([0, 1, 2], [float("nan"), 1], "rate 0 is nan"),
        ([0, 1], [1, 1], "one rate between each two edges"),
        ([1, 2], [1], "ascend from 0"),
        ([0, 2, 1], [1, 1], "ascend from 0"),
    ],
)
def test_a_bad_intensity_is_refused_by_name(edges, rates, message):
    with pytest.raises(ValueError, match=message):
        Intensity.of(edges, rates)


@pytest.mark.parametrize(
    ("grid", "retrievals", "message"),
    [
        ([0.0, 1.0], 3, "3 retrievals on a grid of 2"),
        ([0.0, 1.0], 0, "0 retrievals"),
        ([], 1, "1 retrievals on a grid of 0"),
        ([1.0, 0.5], 1, "ascends"),
        ([0.0, 2.0], 1, "ascends"),
    ],
)
def test_a_bad_grid_is_refused(grid, retrievals, message):
    with pytest.raises(ValueError, match=message):
        checked_grid(FIGURE_4, retrievals, grid)
