"""What every member of the tables keeps to."""

import numpy as np
import pytest

from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.prefetch.table import ALLOCATIONS, OBJECTIVES

each_objective = pytest.mark.parametrize("name", sorted(OBJECTIVES))


def test_each_objective_is_an_allocation_of_the_same_name() -> None:
    assert {name: objective.allocate for name, objective in OBJECTIVES.items()}.items() <= ALLOCATIONS.items()


@pytest.mark.parametrize("name", sorted(ALLOCATIONS))
def test_what_is_given_in_is_left_as_it_was(name: str) -> None:
    rates, weights = np.array([1.0, 0.0, 3.0]), np.array([2.0, 1.0, 0.5])
    ALLOCATIONS[name](rates, weights, 4.0)
    assert (rates.tolist(), weights.tolist()) == ([1.0, 0.0, 3.0], [2.0, 1.0, 0.5])


@each_objective
def test_more_budget_is_better(name: str) -> None:
    objective = OBJECTIVES[name]
    rates, weights = np.array([1.0, 5.0, 0.2]), np.array([1.0, 2.0, 1.0])
    values = [
        weighted_mean(objective.measure(rates, objective.allocate(rates, weights, budget)), weights)
        for budget in (1.0, 3.0, 9.0)
    ]
    assert values == sorted(values, reverse=not objective.greatest)
    assert len(set(values)) == 3


@each_objective
def test_what_never_changes_is_as_good_as_can_be(name: str) -> None:
    objective = OBJECTIVES[name]
    best = 1.0 if objective.greatest else 0.0
    assert objective.measure(np.zeros(1), np.zeros(1)).tolist() == [best]
