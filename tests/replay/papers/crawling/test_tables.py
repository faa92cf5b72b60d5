import numpy as np

from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import PoissonGains, TabulatedGains
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.crawling.tables import FIRST_WIDTH, best_visits_of_tables

SCALES = np.array([50.0, 1.0, 0.1, 2.0])
WEIGHTS = np.array([1.0, 2.0, 3.0, 0.5])


def convex(pages: np.ndarray, intervals: FloatArray) -> FloatArray:
    """Falls ever more slowly with the intervals."""
    return SCALES[pages, None] / intervals


def test_tables_grow_until_no_page_uses_its_own_up() -> None:
    budget = 12 * FIRST_WIDTH
    found = best_visits_of_tables(np.arange(4), convex, WEIGHTS, budget)
    whole = TabulatedGains.of_table(convex(np.arange(4), np.arange(1.0, budget + 2.0)), WEIGHTS)
    assert found.tolist() == best_visits(whole, budget).tolist()
    assert found.max() > 4 * FIRST_WIDTH


def test_other_pages_share_the_budget() -> None:
    others = [(np.array([1, 3]), PoissonGains([1.0, 1.0], WEIGHTS[[1, 3]], "interval"))]
    found = best_visits_of_tables(np.array([0, 2]), convex, WEIGHTS, 20, others)
    assert found.sum() == 20
    assert found[1] > 0
    assert found[0] > found[2]


def test_there_may_be_no_table_at_all() -> None:
    others = [(np.arange(2), PoissonGains([1.0, 1.0], None, "interval"))]
    none = np.empty(0, np.intp)
    assert best_visits_of_tables(none, convex, np.ones(2), 4, others).tolist() == [2, 2]
