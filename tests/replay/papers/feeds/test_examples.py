"""The examples of the paper, and what is computed beside them."""

import numpy as np
import pytest

from bestbefore.policies.prefetch.timing.exact import retrieval_points
from bestbefore.policies.prefetch.timing.points import expected_delay
from bestbefore.replay.papers.feeds.examples import EXAMPLE_1, RETRIEVALS, areas, example_2
from bestbefore.replay.papers.feeds.pollers import mean_at, polled
from bestbefore.replay.papers.feeds.polling import Measured
from bestbefore.replay.papers.feeds.population import burstiness
from bestbefore.replay.papers.feeds.spans import END_S, START_S, Spans


def test_example_1():
    assert retrieval_points(EXAMPLE_1, 1).tolist() == [1.0]
    assert expected_delay(EXAMPLE_1, np.array([[1.0], [0.0]])).tolist() == [0.5, 1.5]


def test_in_example_2_the_areas_are_equal():
    curve = example_2()
    assert curve.mass[-1] == pytest.approx(2.0)
    ahead, behind = areas(curve, retrieval_points(curve, RETRIEVALS))
    assert ahead == pytest.approx(behind, abs=0.01)


def test_burstiness_of_a_clock_and_of_bursts():
    assert burstiness(np.arange(50.0)) == -1.0
    assert burstiness(np.cumsum(np.random.default_rng(1).exponential(1.0, 20_000))) == pytest.approx(0.0, abs=0.02)
    assert burstiness(np.concatenate([np.arange(500.0), 1e6 + np.arange(500.0)])) > 0.9


def test_a_curve_is_straight_for_the_logarithms():
    curve = [Measured(per_day, mean_s, 0.0, 0.0, 0.0, 0) for per_day, mean_s in ((4.0, 25.0), (1.0, 100.0))]
    assert mean_at(curve, 2.0) == pytest.approx(50.0)
    assert mean_at(curve, 4.0) == 25.0
    assert mean_at(curve, 5.0) is None


def test_a_fixed_interval_is_a_uniform_one():
    rng = np.random.default_rng(2)
    found = polled(Spans("", [np.sort(rng.uniform(0, END_S, 50)) for _ in range(30)]), "fixed:interval=6h")
    assert found.retrievals_per_day == pytest.approx(4.0, rel=0.01)
    assert found.mean_s == pytest.approx(3 * 3600.0, rel=0.05)
    assert START_S < END_S
