"""The threshold search beside the greedy rule, visit by visit, and beside every possible plan."""

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Poisson, Weibull
from bestbefore.policies.prefetch.checked import IntArray, RowError
from bestbefore.policies.prefetch.discrete.best import FEW, SAMPLE, best_visits
from bestbefore.policies.prefetch.discrete.gains import Gains, MixedGains, PoissonGains, TabulatedGains
from bestbefore.policies.prefetch.discrete.staleness import staleness
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates, least_staleness


def greedy(gains: Gains, budget: int, least: IntArray, most: IntArray) -> IntArray:
    """Fox's rule: the visit that gains most, of equals that to the first object, until the budget is spent."""
    counts = least.copy()

    def gained(i: int) -> float:
        return float(gains.of(np.array([i]), counts[i:i + 1])[0])

    waiting = [(-gained(i), i) for i in range(len(gains)) if counts[i] < most[i]]
    heapq.heapify(waiting)
    for _ in range(budget - int(least.sum())):
        if not waiting or waiting[0][0] >= 0.0:
            break
        i = heapq.heappop(waiting)[1]
        counts[i] += 1
        if counts[i] < most[i]:
            heapq.heappush(waiting, (-gained(i), i))
    return counts


LAWS = st.one_of(
    st.builds(Poisson, st.floats(0.01, 30)),
    st.builds(Weibull, st.floats(0.3, 4), st.floats(0.05, 5)),
    st.builds(Pareto, st.floats(1.1, 6), st.floats(0.05, 5)),
    st.builds(Empirical.of, st.lists(st.floats(0.05, 5), min_size=1, max_size=6)),
)
objects = st.lists(
    st.tuples(LAWS, st.floats(0.01, 10), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=9
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(objects=objects, spare=st.integers(0, 40), boundary=st.sampled_from(["interval", "periodic"]))
def test_any_convex_costs_are_divided_as_by_the_greedy_rule(objects: list, spare: int, boundary: str) -> None:
    laws, weights, least, room = zip(*objects, strict=True)
    least, most = np.array(least), np.array(least) + np.array(room)
    gains = TabulatedGains.of_laws(laws, weights, 1.0, boundary, 12)  # type: ignore[arg-type]
    budget = int(least.sum()) + spare
    if budget:
        assert best_visits(gains, budget, least, most).tolist() == greedy(gains, budget, least, most).tolist()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    objects=st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 1.0, 3.0, 50.0]), st.sampled_from([0.0, 0.5, 1.0, 7.0])),
        min_size=1, max_size=12,
    ),
    budget=st.integers(1, 60), boundary=st.sampled_from(["interval", "periodic"]),
)
def test_poisson_objects_of_which_many_are_equal_are_divided_as_by_the_greedy_rule(
    objects: list[tuple[float, float]], budget: int, boundary: str
) -> None:
    rates, weights = np.array(objects).T
    gains = PoissonGains(rates, weights, boundary)  # type: ignore[arg-type]
    free = np.zeros(len(rates), np.int64)
    expected = greedy(gains, budget, free, free + budget)
    assert best_visits(gains, budget).tolist() == expected.tolist()


def test_no_plan_of_all_is_better() -> None:
    laws = [Poisson(0.7), Weibull(2.0, 0.3), Pareto(1.4, 0.2), Empirical.of([0.1, 0.5])]
    weights = [1.0, 2.0, 1.0, 0.5]
    for boundary in ("interval", "periodic"):
        gains = TabulatedGains.of_laws(laws, weights, 1.0, boundary, 6)  # type: ignore[arg-type]

        def cost(plan: tuple[int, ...], boundary: str = boundary) -> float:
            pairs = zip(laws, weights, plan, strict=True)
            return sum(w * float(staleness(law, x, 1.0, boundary)) for law, w, x in pairs)  # type: ignore[arg-type]

        plans = [plan for plan in itertools.product(range(7), repeat=4) if sum(plan) == 6]
        found = best_visits(gains, 6)
        assert found.sum() == 6
        assert cost(tuple(found.tolist())) == pytest.approx(min(map(cost, plans)), rel=1e-12)


def test_pages_updated_at_known_moments_mix_with_those_updated_at_random() -> None:
    page = PotentialUpdates.of([0.1, 0.4, 0.8], [1.0, 0.5, 0.9], 1.0)
    table = TabulatedGains.of_table([least_staleness(page, "periodic")], [1.0])
    gains = MixedGains([(np.array([1]), table), (np.array([0, 2]), PoissonGains([1.0, 5.0], None, "periodic"))])
    found = best_visits(gains, 7)
    assert found.tolist() == greedy(gains, 7, np.zeros(3, np.int64), np.full(3, 7)).tolist()
    # three visits leave nothing to gain at the page of known moments
    assert best_visits(gains, 1000)[1] == 3


def test_of_equal_objects_the_first_get_the_visit_that_is_left() -> None:
    assert best_visits(PoissonGains([2.0] * 5, None, "interval"), 12).tolist() == [3, 3, 2, 2, 2]
    many = SAMPLE + 100
    found = best_visits(PoissonGains(np.full(many, 2.0), None, "periodic"), many + 7)
    assert found.tolist() == [2] * 7 + [1] * (many - 7)


def test_what_changes_all_the_time_gains_the_same_by_each_visit_until_it_is_full() -> None:
    # with 1e9 updates a period each of a million visits gains 1e-9: no threshold lies between them
    found = best_visits(PoissonGains([1e9, 1e9], None, "periodic"), 1_000_000 + FEW, 0, 1_000_000)
    assert found.tolist() == [1_000_000, FEW]


def test_many_objects_are_divided_as_by_the_greedy_rule() -> None:
    rng = np.random.default_rng(4)
    n = SAMPLE + 1000
    gains = PoissonGains(np.exp(rng.normal(0, 1.5, n)), rng.pareto(1.1, n), "interval")
    least = rng.integers(0, 2, n)
    most = least + rng.integers(0, 5, n)
    budget = int(least.sum()) + 5000
    assert best_visits(gains, budget, least, most).tolist() == greedy(gains, budget, least, most).tolist()


def test_visits_that_gain_nothing_are_not_made() -> None:
    gains = PoissonGains([0.0, 1.0, 1.0], [1.0, 0.0, 1.0], "periodic")
    assert best_visits(gains, 10, [1, 2, 0], 4).tolist() == [1, 2, 4]


def test_a_budget_of_the_minimums_leaves_them_as_they_are() -> None:
    assert best_visits(PoissonGains([5.0, 1.0], None, "interval"), 3, [1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize("budget", [0, -1, 2.5, float("nan"), float("inf")])
def test_a_budget_is_a_positive_whole_number(budget: float) -> None:
    with pytest.raises(ValueError, match="expected a positive whole number of visits"):
        best_visits(PoissonGains([1.0], None, "interval"), budget)  # type: ignore[arg-type]


def test_a_budget_below_the_minimums_is_refused() -> None:
    with pytest.raises(ValueError, match="the budget is 4 visits, but the least numbers of visits add up to 5"):
        best_visits(PoissonGains([1.0, 1.0], None, "interval"), 4, [2, 3])


def test_a_minimum_above_its_maximum_is_refused_by_its_row() -> None:
    with pytest.raises(RowError, match="row 1: the least number of visits, 3, exceeds the largest, 2"):
        best_visits(PoissonGains([1.0, 1.0], None, "interval"), 9, [0, 3], [9, 2])


def test_of_many_equal_gains_the_first_are_made_and_no_more_than_the_budget() -> None:
    """Each visit to one of these gains the same until the last, so that no threshold lies between any two."""
    objects, moments = 100, 2 * FEW // 100
    table = np.tile(np.arange(float(moments), -1.0, -1.0), (objects, 1))
    found = best_visits(TabulatedGains.of_table(table, np.ones(objects)), 10 * moments)
    assert found.tolist() == [moments] * 10 + [0] * 90
