from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.waiting_gains import WaitingGains
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary

BOTH = [(WaitingGains.of_age, objectives.age), (WaitingGains.of_delay, objectives.delay)]


def test_a_second_visit_halves_the_delay() -> None:
    """lambda / (2 n): with 6 updates 3, 1.5, 1; the second visit gains 1.5, the third 0.5, times the weight."""
    gains = WaitingGains.of_delay([6.0], [2.0], "periodic")
    assert_allclose(gains.of(np.array([0, 0]), np.array([1, 2])), [3.0, 1.0], rtol=1e-15)
    assert gains.count(1.0, np.array([9])).tolist() == [3]
    assert gains.count(1.0 + 1e-12, np.array([9])).tolist() == [2]
    assert gains.count(1.0, np.array([2])).tolist() == [2]


def test_with_current_copies_at_the_beginning_there_is_one_interval_more() -> None:
    gains = WaitingGains.of_delay([6.0], [2.0], "interval")
    assert_allclose(gains.of(np.array([0, 0]), np.array([0, 1])), [3.0, 1.0], rtol=1e-15)
    assert gains.count(1.0, np.array([9])).tolist() == [2]


@pytest.mark.parametrize("of", [WaitingGains.of_age, WaitingGains.of_delay])
def test_what_has_no_rate_or_no_weight_gains_nothing(of: Any) -> None:
    gains = of([0.0, 3.0], [1.0, 0.0], "periodic")
    assert gains.of(np.array([0, 1]), np.array([0, 0])).tolist() == [0.0, 0.0]
    assert gains.count(1e-9, np.array([5, 5])).tolist() == [0, 0]


@pytest.mark.parametrize("boundary", ["interval", "periodic"])
@pytest.mark.parametrize(("of", "measure"), BOTH)
def test_the_visits_are_those_of_the_greedy_rule(of: Any, measure: objectives.Measure, boundary: Boundary) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        n = int(rng.integers(1, 8))
        rates, weights = np.exp(rng.normal(0, 2, n)), rng.exponential(1, n)
        fresh = 1.0 if boundary == "interval" else 0.0
        least = rng.integers(0, 3, n) if boundary == "interval" else np.ones(n, int)
        spare = int(rng.integers(1, 40))
        found = best_visits(of(rates, weights, boundary), int(least.sum()) + spare, least)
        greedy = least.copy()
        for _ in range(spare):
            better = weights * (measure(rates, greedy + fresh) - measure(rates, greedy + fresh + 1.0))
            greedy[np.argmax(better)] += 1
        assert found.tolist() == greedy.tolist()


def test_only_some_objects_are_renumbered() -> None:
    gains = WaitingGains.of_age([1.0, 2.0, 3.0], None, "interval").subset(np.array([2]))
    assert len(gains) == 1
    whole = WaitingGains.of_age([3.0], None, "interval")
    assert gains.of(np.array([0]), np.array([4])) == whole.of(np.array([0]), np.array([4]))
