import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.continued import COSTS, ContinuedGains, cost_of_rest, first_interval

RATES = np.array([0.3, 2.0, 2.0, 9.0, 0.0])
SINCE = np.array([0.0, 0.1, 3.0, 0.4, 1.0])


@pytest.mark.parametrize("objective", COSTS)
def test_without_time_passed_the_rest_is_a_period_that_begins_with_current_copies(objective: str) -> None:
    """n visits make n + 1 equal intervals."""
    cost = cost_of_rest(COSTS[objective], RATES, np.zeros(5), np.full(5, 3.0))
    assert_allclose(cost, COSTS[objective](RATES, np.full(5, 4.0)), atol=1e-15)


@pytest.mark.parametrize("objective", COSTS)
def test_no_first_contact_at_another_time_costs_less(objective: str) -> None:
    measure = COSTS[objective]

    def cost(first: float, row: int, visits: int) -> float:
        """The cost of an interval of `first` that began before, and equal ones after it."""
        rate, since = RATES[row : row + 1], float(SINCE[row])
        lengths = np.array([first, *[(1.0 + since - first) / visits] * visits])
        whole = lengths * np.concatenate([measure(rate, np.array([1.0 / d])) for d in lengths])
        begun = since * float(measure(rate, np.array([1.0 / since]))[0]) if since else 0.0
        return float(whole.sum()) - begun

    for row in range(4):
        for visits in (1, 3):
            found = minimize_scalar(
                cost, bounds=(SINCE[row], 1.0 + SINCE[row] - 1e-9), args=(row, visits), method="bounded",
                options={"xatol": 1e-9},
            )
            at_end = cost(max(float(SINCE[row]), 1e-12), row, visits)
            own = cost_of_rest(measure, RATES, SINCE, np.full(5, float(visits)))[row]
            assert own == pytest.approx(min(float(found.fun), at_end), rel=1e-6)


def test_a_contact_that_is_overdue_is_made_at_once() -> None:
    assert first_interval(np.array([0.0, 3.0]), np.array([1.0, 1.0])).tolist() == [0.5, 3.0]


@pytest.mark.parametrize("objective", COSTS)
def test_gains_fall_and_are_counted(objective: str) -> None:
    gains = ContinuedGains(objective, RATES, np.array([1.0, 2.0, 1.0, 1.0, 1.0]), SINCE)
    each = np.array([gains.of(np.arange(5), np.full(5, visits)) for visits in range(40)])
    assert (np.diff(each, axis=0) <= 1e-12).all()
    threshold = float(each[3, 1])
    assert gains.count(threshold, np.full(5, 40)).tolist() == (each >= threshold).sum(axis=0).tolist()
    assert gains.subset(np.array([1, 3])).of(np.array([1]), np.array([0])) == each[0, 3]
    assert not each[:, 4].any()


def test_no_other_division_is_fresher() -> None:
    rates, since = np.array([1.0, 4.0, 2.0]), np.array([0.2, 0.0, 2.0])
    best = best_visits(ContinuedGains("freshness", rates, np.ones(3), since), 5)
    costs = {
        (a, b, 5 - a - b): float(cost_of_rest(COSTS["freshness"], rates, since, np.array([a, b, 5.0 - a - b])).sum())
        for a in range(6) for b in range(6 - a)
    }
    assert min(costs, key=lambda visits: costs[visits]) == tuple(best.tolist())
