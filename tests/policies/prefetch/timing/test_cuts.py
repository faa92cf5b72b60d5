"""Least-cost cuts of a line and a circle, against all choices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.timing.cuts import circle_cuts, line_cuts, line_cuts_at


def monge(positions, masses):
    """w(a, b) = the mass after a and up to b, each waiting until b."""
    return np.array([
        [sum(masses[k] * (positions[b] - positions[k]) for k in range(a + 1, b)) for b in range(len(positions))]
        for a in range(len(positions))
    ])


@st.composite
def circles(draw):
    gaps = np.array(draw(st.lists(st.integers(1, 9), min_size=1, max_size=7)), dtype=float)
    masses = np.array(draw(st.lists(st.integers(0, 5), min_size=gaps.size, max_size=gaps.size)), dtype=float)
    positions = np.concatenate(([0.0], np.cumsum(np.tile(gaps, 2))))
    return monge(positions, np.append(np.tile(masses, 2), masses[0])), draw(st.integers(1, gaps.size))


def cost_of_circle(cost, chosen):
    nodes = cost.shape[0] // 2
    return sum(cost[a, b] for a, b in itertools.pairwise([*chosen, chosen[0] + nodes]))


@given(circles())
@settings(max_examples=150, derandomize=True)
def test_the_cuts_of_a_circle_cost_no_more_than_any_others(case):
    cost, cuts = case
    chosen = circle_cuts(cost, cuts)
    assert len(set(chosen.tolist())) == cuts
    best = min(cost_of_circle(cost, c) for c in itertools.combinations(range(cost.shape[0] // 2), cuts))
    assert cost_of_circle(cost, chosen.tolist()) == best


@given(circles())
@settings(max_examples=100, derandomize=True)
def test_the_cuts_of_a_line_cost_no_more_than_any_others(case):
    cost, _ = case
    last = cost.shape[0] - 1
    most = min(last - 1, 4)
    least, chosen = line_cuts(cost, most)
    for cuts in range(most + 1):
        plans = itertools.combinations(range(1, last), cuts)
        best = min(sum(cost[a, b] for a, b in itertools.pairwise([0, *plan, last])) for plan in plans)
        assert least[cuts] == best
        assert sum(cost[a, b] for a, b in itertools.pairwise([0, *chosen[cuts].tolist(), last])) == best
        if cuts:
            exact = line_cuts_at(cost, cuts).tolist()
            assert sum(cost[a, b] for a, b in itertools.pairwise([0, *exact, last])) == best


def test_least_costs_are_convex_in_the_number_of_cuts():
    rng = np.random.default_rng(4)
    cost = monge(np.cumsum(rng.uniform(0.1, 1.0, 30)), rng.uniform(0.0, 1.0, 30))
    least, _ = line_cuts(cost, 28)
    assert np.all(np.diff(least, 2) >= -1e-12)
    assert least[28] == pytest.approx(0.0, abs=1e-12)


def test_as_many_cuts_as_nodes_are_all_nodes():
    cost = monge(np.arange(9.0), np.ones(9))
    assert circle_cuts(cost, 4).tolist() == [0, 1, 2, 3]
