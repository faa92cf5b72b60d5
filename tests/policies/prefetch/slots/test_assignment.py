"""Slots of crawlers and the assignment of crawls to them, against a general solver on small random problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from bestbefore.policies.prefetch.slots.assignment import Downtime, Slots, assign

NEVER = 1e9
"""What the general solver pays for a slot before the release time."""


@st.composite
def problems(draw):
    numbers = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3).filter(any))
    windows = st.builds(Downtime, st.integers(0, 8).map(float), st.integers(3, 12).map(float),
                        st.sampled_from([None, *range(len(numbers))]))
    slots = Slots.of(12.0, numbers, draw(st.lists(windows, max_size=2)))
    most = slots.start_s.size
    n = draw(st.one_of(st.just(most), st.integers(0, most)))
    times = draw(st.lists(st.integers(-4, 28).map(lambda t: t / 2.0), min_size=n, max_size=n))
    released = draw(st.one_of(st.just([False] * n), st.lists(st.booleans(), min_size=n, max_size=n)))
    return slots, np.array(times), np.array(released, dtype=np.bool_)


def costs(slots, ideal_s, released):
    late = slots.start_s - ideal_s[:, None]
    return np.where(released[:, None] & (late < 0.0), NEVER, np.abs(late))


@given(problems())
@settings(max_examples=250, derandomize=True, deadline=None)
def test_the_total_cost_is_that_of_a_general_solver(problem):
    slots, ideal_s, released = problem
    cost = costs(slots, ideal_s, released)
    least = float(np.sum(cost[linear_sum_assignment(cost)]))
    if least >= NEVER:
        with pytest.raises(ValueError, match="no slot is free at or after its release time"):
            assign(slots, ideal_s, released)
        return
    assignment = assign(slots, ideal_s, released)
    assert np.unique(assignment.slot).size == ideal_s.size
    assert float(np.sum(cost[np.arange(ideal_s.size), assignment.slot])) == pytest.approx(least, abs=1e-9)
    assert assignment.start_s.tolist() == slots.start_s[assignment.slot].tolist()
    assert assignment.crawler.tolist() == slots.crawler[assignment.slot].tolist()


@pytest.mark.parametrize("load", [0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("spread", ["even", "bunched"])
def test_long_runs_of_crowded_slots_are_assigned_at_least_cost(load, spread):
    rng = np.random.default_rng(8)
    slots = Slots.of(100.0, [70, 50, 30], [Downtime(40.0, 50.0), Downtime(10.0, 30.0, crawler=1)])
    n = int(load * slots.start_s.size)
    ideal_s = rng.uniform(0.0, 100.0, n) if spread == "even" else rng.normal(50.0, 5.0, n)
    released = (rng.random(n) < 0.2) & (ideal_s < 60.0)
    cost = costs(slots, ideal_s, released)
    assignment = assign(slots, ideal_s, released)
    least = np.sum(cost[linear_sum_assignment(cost)])
    assert np.sum(cost[np.arange(n), assignment.slot]) == pytest.approx(least, rel=1e-12)


def test_slots_of_unequal_crawlers_are_in_the_order_of_time_then_crawler():
    slots = Slots.of(12.0, [2, 0, 3])
    assert slots.start_s.tolist() == [0.0, 0.0, 4.0, 6.0, 8.0]
    assert slots.crawler.tolist() == [0, 2, 2, 0, 2]


def test_a_window_takes_the_slots_that_start_in_it():
    closed = [Downtime(4.0, 8.0, crawler=2), Downtime(0.0, 1.0)]
    assert Slots.of(12.0, [2, 0, 3], closed).start_s.tolist() == [6.0, 8.0]


def test_a_release_time_goes_before_an_ideal_time_and_is_never_early():
    # Both want 5 s; the one that may not be early is given 6 s, so the other goes back to 4 s.
    slots = Slots.of(10.0, [5])
    assert assign(slots, np.array([5.0, 5.0]), np.array([False, True])).start_s.tolist() == [4.0, 6.0]


def test_of_equal_crawls_the_first_row_comes_first():
    slots = Slots.of(4.0, [4])
    assert assign(slots, np.full(4, 2.0), np.zeros(4, dtype=np.bool_)).start_s.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_crawls_beyond_the_period_take_its_ends():
    slots = Slots.of(4.0, [4])
    assert assign(slots, np.array([-10.0, 10.0]), np.zeros(2, dtype=np.bool_)).start_s.tolist() == [0.0, 3.0]


def test_no_crawls_take_no_slots():
    nothing = np.empty(0)
    assert assign(Slots.of(4.0, [0]), nothing, nothing.astype(np.bool_)).slot.size == 0


@pytest.mark.parametrize(
    ("ideal_s", "released", "message"),
    [
        ([0.0, 1.0, 2.0], [False] * 3, "3 crawls for 2 slots"),
        ([0.0, np.nan], [False] * 2, "row 1: the ideal time is nan"),
        ([0.0, -np.inf], [False] * 2, "row 1: the ideal time is -inf"),
        ([1.0, 3.0], [False, True], r"row 1: no slot is free at or after its release time 3.0 s"),
        ([1.5, 1.0], [True, True], r"row 0: no slot is free at or after its release time 1.5 s"),
        ([1.0], [True, True], "ideal times and"),
    ],
)
def test_what_cannot_be_assigned_is_refused_by_row(ideal_s, released, message):
    with pytest.raises(ValueError, match=message):
        assign(Slots.of(4.0, [2]), np.array(ideal_s), np.array(released))


@pytest.mark.parametrize(
    ("period_s", "numbers", "closed", "message"),
    [
        (4.0, [1, -1], [], "crawler 1 has -1 slots"),
        (0.0, [1], [], "a period of 0.0 s"),
        (np.inf, [1], [], "a period of inf s"),
        (4.0, [1], [Downtime(0.0, 1.0, crawler=1)], "a window of crawler 1"),
    ],
)
def test_impossible_slots_are_refused(period_s, numbers, closed, message):
    with pytest.raises(ValueError, match=message):
        Slots.of(period_s, numbers, closed)
