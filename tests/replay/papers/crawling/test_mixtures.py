import pytest

from bestbefore.replay.papers.crawling.mixtures import MIXTURES, curves_of
from bestbefore.replay.papers.crawling.schemes import is_convex

BUDGETS = (1.5, 2.0, 2.5, 3.0, 5.0)


@pytest.mark.parametrize("name", MIXTURES)
def test_the_optimum_is_the_lowest_and_convex(name: str) -> None:
    curves = curves_of(MIXTURES[name], 1500, BUDGETS)
    for best, proportional, uniform in zip(*curves.values(), strict=True):
        assert best <= min(proportional, uniform)
        assert uniform < proportional or name == "quasi-deterministic"
    assert is_convex(curves["optimal"])


def test_enough_crawls_keep_quasi_deterministic_pages_fresh() -> None:
    curves = curves_of(MIXTURES["quasi-deterministic"], 500, (5.0,))
    assert curves["optimal"] == [(5.0, 0.0)]


def test_the_values_of_the_poisson_figure() -> None:
    curves = curves_of(MIXTURES["Poisson"], 10_000, (2.5,))
    found = [points[0][1] for points in curves.values()]
    assert found == pytest.approx([0.0753, 0.1138, 0.0846], abs=1e-4)
