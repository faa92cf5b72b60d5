import numpy as np
import pytest

from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Poisson, RenewalLaw, Weibull
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import TabulatedGains
from bestbefore.policies.prefetch.discrete.law_visits import best_visits_of_laws
from bestbefore.policies.prefetch.discrete.staleness import staleness
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, least_staleness


def laws() -> list[RenewalLaw]:
    rng = np.random.default_rng(8)
    kinds = [
        lambda: Poisson(float(rng.uniform(0.1, 5))),
        lambda: Weibull(float(rng.uniform(0.4, 3)), float(rng.uniform(0.1, 3))),
        lambda: Pareto(float(rng.uniform(1.1, 4)), float(rng.uniform(0.1, 3))),
        lambda: Empirical.of(rng.uniform(0.1, 2, 5)),
    ]
    return [kinds[i % 4]() for i in range(20)]


@pytest.mark.parametrize("budget", [5, 60, 3000])
@pytest.mark.parametrize("boundary", ["interval", "periodic"])
def test_tables_grow_until_the_answer_is_that_of_one_wide_table(budget: int, boundary: str) -> None:
    given, weights = laws(), np.random.default_rng(9).uniform(0.1, 3, 20)
    wide = TabulatedGains.of_laws(given, weights, 2.0, boundary, 3000)  # type: ignore[arg-type]
    expected = best_visits(wide, budget)
    found = best_visits_of_laws(given, weights, budget, 2.0, boundary)  # type: ignore[arg-type]
    assert found.sum() == budget
    assert found.tolist() == expected.tolist()


def test_bounds_hold_also_beyond_the_first_tables() -> None:
    given = [Weibull(0.5, 1.0), Poisson(1.0), Pareto(1.5, 1.0)]
    found = best_visits_of_laws(given, np.ones(3), 100, 1.0, "periodic", [40, 0, 0], [40, 5, 100])
    assert found.tolist() == [40, 5, 55]
    assert best_visits_of_laws(given, np.ones(3), 50, 1.0, "periodic", [0, 50, 0]).tolist() == [0, 50, 0]


def test_laws_and_weights_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="1 laws but 2 weights"):
        best_visits_of_laws([Poisson(1.0)], [1.0, 2.0], 3, 1.0, "periodic")


@pytest.mark.parametrize("boundary", ["interval", "periodic"])
def test_pages_with_potential_updates_are_visited_as_the_greedy_rule_would(boundary: Boundary) -> None:
    updates = [PotentialUpdates.of([0.0, 0.3, 0.5], [0.9, 0.2, 0.5], 1.0), PotentialUpdates.of([0.1], [1.0], 1.0)]
    tables = [[*least_staleness(one, boundary), *([0.0] * 9)] for one in updates]
    tables.append(staleness(Poisson(3.0), np.arange(20), 1.0, boundary).tolist())
    for budget in range(1, 9):
        greedy = [0, 0, 0]
        for _ in range(budget):
            gained = [table[x] - table[x + 1] for table, x in zip(tables, greedy, strict=True)]
            greedy[int(np.argmax(gained))] += 1
        given = [*updates, Poisson(3.0)]
        assert best_visits_of_laws(given, np.ones(3), budget, 1.0, boundary).tolist() == greedy


def test_visits_beyond_the_potential_updates_are_not_made() -> None:
    once = PotentialUpdates.of([0.1], [1.0], 1.0)
    assert best_visits_of_laws([once, once], np.ones(2), 9, 1.0, "periodic", [0, 3]).tolist() == [1, 3]
