"""Retrieval points of least delay: the paper's examples, all choices on small grids, and the condition of theorem 3."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.timing.exact import (
    MOST_EXACT,
    _on_edge_if_near,
    dense_points,
    points_on_grid,
    polished,
    retrieval_points,
    retrieval_points_of_all,
)
from bestbefore.policies.prefetch.timing.points import Intensity, delay_slopes, expected_delay, uniform_points

SINE = Intensity.of(np.arange(201) / 200, 2 + 2 * np.sin(2 * np.pi * (np.arange(200) + 0.5) / 200))
"""Example 2 of `feeds`: lambda(t) = 2 + 2 sin(2 pi t), in 200 steps."""


@st.composite
def cases(draw):
    rates = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=6))
    grid = sorted(draw(st.sets(st.integers(0, 4 * len(rates) - 1), min_size=1, max_size=8)))
    return (
        Intensity.of(np.arange(len(rates) + 1), rates),
        np.array(grid) / 4.0,
        draw(st.integers(1, len(grid))),
    )


@given(cases())
@settings(max_examples=150, derandomize=True)
def test_on_a_grid_no_other_choice_has_less_delay(case):
    intensity, grid, retrievals = case
    least = min(float(expected_delay(intensity, np.array(c))) for c in itertools.combinations(grid, retrievals))
    assert expected_delay(intensity, points_on_grid(intensity, retrievals, grid)) == pytest.approx(least, abs=1e-12)


def test_example_1_is_retrieved_right_after_the_period_of_activity():
    intensity = Intensity.of([0, 1, 2], [1, 0])
    points = retrieval_points(intensity, 1)
    assert points.tolist() == [1.0]
    assert expected_delay(intensity, points) == 0.5


def test_three_retrievals_share_the_period_of_activity_of_example_1():
    assert retrieval_points(Intensity.of([0, 1, 2], [1, 0]), 3) == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_example_2_has_the_six_points_of_the_sine_itself():
    # Figure 5 prints no numbers. These come from minimising the delay of the sine, in closed form, by BFGS.
    points = retrieval_points(SINE, 6)
    assert points == pytest.approx([0.0507, 0.1708, 0.2748, 0.3777, 0.4914, 0.6415], abs=0.003)
    assert expected_delay(SINE, points) == pytest.approx(0.129948, rel=1e-5)
    assert expected_delay(SINE, points) < 0.8 * expected_delay(SINE, uniform_points(1.0, 6))


@given(seed=st.integers(0, 2**32 - 1), retrievals=st.integers(1, 30))
@example(seed=2, retrievals=48)  # many points push each other from edge to edge
@settings(max_examples=60, derandomize=True, deadline=None)
def test_the_sign_of_the_slope_changes_at_each_point(seed, retrievals):
    intensity = Intensity.hourly(np.random.default_rng(seed).gamma(0.5, 1.0, 24))
    left, right = delay_slopes(intensity, retrieval_points(intensity, retrievals))
    level = 1e-6 * intensity.mass[-1]
    assert np.all(left <= level)
    assert np.all(right >= -level)


@given(cases())
@settings(max_examples=100, derandomize=True)
def test_polishing_never_adds_delay(case):
    intensity, grid, retrievals = case
    start = grid[:retrievals]
    points = polished(intensity, start)
    assert expected_delay(intensity, points) <= expected_delay(intensity, start)
    assert np.all(np.diff(points) >= 0.0)
    assert points[0] >= 0.0
    assert points[-1] < intensity.period_h


def test_a_constant_rate_is_retrieved_uniformly():
    points = retrieval_points(Intensity.hourly(np.ones(24)), 7)
    assert np.diff(points) == pytest.approx(np.full(6, 24 / 7))


def test_without_postings_the_spacing_is_uniform():
    assert retrieval_points(Intensity.hourly(np.zeros(24)), 3).tolist() == [0.0, 8.0, 16.0]


def test_all_retrievals_lie_where_the_postings_are():
    rates = np.zeros(24)
    rates[9] = 5.0
    points = retrieval_points(Intensity.hourly(rates), 12)
    assert points == pytest.approx(9.0 + np.arange(1, 13) / 12)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_scale_of_the_rates_does_not_matter(scale):
    rates = np.random.default_rng(3).gamma(0.5, 1.0, 24)
    expected = retrieval_points(Intensity.hourly(rates), 5)
    assert retrieval_points(Intensity.hourly(rates * scale), 5) == pytest.approx(expected)


def test_very_many_points_are_spaced_by_the_root_of_the_rate():
    rates = np.repeat([1.0, 4.0, 0.0], 8)
    points = retrieval_points(Intensity.hourly(rates), 3 * MOST_EXACT)
    assert np.histogram(points, [0, 8, 16, 24])[0].tolist() == [MOST_EXACT, 2 * MOST_EXACT, 0]
    # Where both can be had, they are a little worse.
    rough = Intensity.hourly(np.random.default_rng(3).gamma(0.5, 1.0, 24))
    best = expected_delay(rough, retrieval_points(rough, 100))
    assert best < expected_delay(rough, dense_points(rough, 100)) < 1.3 * best


def test_the_schedules_of_all_feeds_are_those_of_each():
    rates = np.random.default_rng(3).gamma(0.5, 1.0, (4, 24))
    rates[2] = 2.0 * rates[0]
    schedules = retrieval_points_of_all(rates, np.array([3, 1, 3, 0]))
    assert schedules[0] == pytest.approx(retrieval_points(Intensity.hourly(rates[0]), 3))
    assert schedules[1] == pytest.approx(retrieval_points(Intensity.hourly(rates[1]), 1))
    assert schedules[2] == pytest.approx(schedules[0])
    assert schedules[3].size == 0


def test_equal_patterns_are_solved_once():
    asked = []

    def counted(_, retrievals):
        asked.append(retrievals)
        return np.arange(float(retrievals))

    found = retrieval_points_of_all(np.outer([1.0, 2.0, 1.0, 1.0], np.arange(24.0)), np.array([2, 2, 0, 3]), counted)
    assert sorted(asked) == [2, 3]
    assert [points.size for points in found] == [2, 2, 0, 3]


@pytest.mark.parametrize(
    ("rates", "retrievals", "message"),
    [
        (np.array([[1.0] * 24, [-1.0] * 24]), [1, 1], "row 1: rate 0"),
        (np.array([[1.0] * 24, [np.nan] * 24]), [1, 1], "row 1: rate 0"),
        (np.ones((2, 24)), [1, -1], "row 1: -1 retrievals"),
        (np.ones((2, 24)), [1], "rates for"),
    ],
)
def test_a_bad_row_is_named(rates, retrievals, message):
    with pytest.raises(ValueError, match=message):
        retrieval_points_of_all(rates, np.array(retrievals))


def test_more_than_two_hundred_retrievals_are_spread_by_the_square_root_of_the_intensity(monkeypatch):
    assert retrieval_points(SINE, 201).tolist() == dense_points(SINE, 201).tolist()
    monkeypatch.setattr("bestbefore.policies.prefetch.timing.exact.MOST_EXACT", 6)
    assert expected_delay(SINE, retrieval_points(SINE, 6)) < expected_delay(SINE, dense_points(SINE, 6))
    assert retrieval_points(SINE, 7).tolist() == dense_points(SINE, 7).tolist()


def test_points_beside_any_edge_are_moved_onto_it_and_others_stay() -> None:
    edges = np.array([0.0, 6.0, 12.0, 18.0, 24.0])
    intensity = Intensity.of(edges, [1.0, 2.0, 3.0, 4.0])
    for missed in (1e-12, -1e-12):
        assert _on_edge_if_near(intensity, edges + missed).tolist() == edges.tolist()
    between = np.array([0.1, 5.9, 6.1, 23.9])
    assert _on_edge_if_near(intensity, between).tolist() == between.tolist()
