"""How many crawls use each start time: small cases on paper, and the sum of costs against all choices."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.slots.flow import crawls_at_each_start, first_come_first_served


def cost(at_s, counts, ideal_s):
    return float(np.sum(np.abs(np.repeat(at_s, counts) - ideal_s)))


@st.composite
def lines(draw):
    at_s = np.array(sorted(draw(st.sets(st.integers(0, 12), min_size=1, max_size=5))), dtype=float)
    capacity = np.array(draw(st.lists(st.integers(0, 3), min_size=at_s.size, max_size=at_s.size)))
    n = draw(st.integers(0, int(capacity.sum())))
    ideal_s = np.sort(np.array(draw(st.lists(st.integers(-2, 30), min_size=n, max_size=n))) / 2.0)
    return at_s, capacity, ideal_s


@given(lines())
@settings(max_examples=300, derandomize=True, deadline=None)
def test_no_other_counts_cost_less(line):
    at_s, capacity, ideal_s = line
    counts = crawls_at_each_start(at_s, capacity, ideal_s)
    assert np.all((counts >= 0) & (counts <= capacity))
    choices = itertools.product(*(range(c + 1) for c in capacity.tolist()))
    least = min(cost(at_s, np.array(c), ideal_s) for c in choices if sum(c) == ideal_s.size)
    assert abs(cost(at_s, counts, ideal_s) - least) < 1e-9


def test_crawls_of_one_moment_spread_to_both_sides():
    counts = crawls_at_each_start(np.arange(7.0), np.ones(7, dtype=np.intp), np.full(3, 3.0))
    assert counts.tolist() == [0, 0, 1, 1, 1, 0, 0]


def test_a_start_without_capacity_is_passed():
    counts = crawls_at_each_start(np.arange(4.0), np.array([1, 0, 0, 1]), np.array([1.2]))
    assert counts.tolist() == [1, 0, 0, 0]


def test_first_come_first_served_waits_for_the_first_free_place():
    served, waiting = first_come_first_served(np.array([3, 0, 1, 0]), np.array([1, 1, 1, 0]))
    assert (served.tolist(), waiting) == ([1, 1, 1, 0], 1)
