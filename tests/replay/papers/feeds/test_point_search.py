"""The paper's two searches for retrieval points: right where the rate is smooth, and never better than the exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.timing.exact import points_on_grid
from bestbefore.policies.prefetch.timing.points import Intensity, expected_delay, uniform_points
from bestbefore.replay.papers.feeds.point_search import exhaustive_points, refined_points

HALF_HOURS = np.arange(48) / 2.0
SINE = Intensity.of(np.arange(101) / 100, 2 + 2 * np.sin(2 * np.pi * (np.arange(100) + 0.5) / 100))
METHODS = (exhaustive_points, refined_points)


@pytest.mark.parametrize("method", METHODS)
def test_example_1_is_retrieved_right_after_the_period_of_activity(method):
    intensity = Intensity.of([0, 1, 2], [1, 0])
    assert method(intensity, 1, np.arange(8) / 4).tolist() == [1.0]


@pytest.mark.parametrize("method", METHODS)
def test_example_2_is_solved_within_half_a_percent(method):
    grid = np.arange(100) / 100
    exact = expected_delay(SINE, points_on_grid(SINE, 6, grid))
    assert expected_delay(SINE, method(SINE, 6, grid)) <= 1.005 * exact


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 2**32 - 1), retrievals=st.integers(1, 48))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_the_exact_method_is_never_worse_on_the_same_grid(method, seed, retrievals):
    rng = np.random.default_rng(seed)
    intensity = Intensity.hourly(rng.gamma(0.5, 1.0, 24) * (rng.random(24) < 0.8))
    points = method(intensity, retrievals, HALF_HOURS)
    assert np.all(np.diff(points) > 0.0)
    assert np.all(np.isin(points, HALF_HOURS))
    exact = expected_delay(intensity, points_on_grid(intensity, retrievals, HALF_HOURS))
    assert exact <= expected_delay(intensity, points) + 1e-9 * intensity.mass[-1]


def test_refinement_starts_from_uniform_spacing_and_only_improves_on_it():
    rates = np.random.default_rng(1).gamma(0.5, 1.0, 24)
    intensity = Intensity.hourly(rates)
    start = expected_delay(intensity, uniform_points(24.0, 6))
    assert expected_delay(intensity, refined_points(intensity, 6, HALF_HOURS)) < start


def test_without_postings_both_keep_uniform_spacing():
    nothing = Intensity.hourly(np.zeros(24))
    for method in METHODS:
        assert method(nothing, 3, HALF_HOURS).tolist() == [0.0, 8.0, 16.0]
