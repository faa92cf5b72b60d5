import numpy as np
import pytest

from bestbefore.replay.papers.crawling.embarrassment import (
    ARRANGEMENTS,
    SCHEMES,
    Curves,
    drawn_weights,
    held,
    over_budgets,
    over_parameters,
)

BUDGETS = (1.5, 3.0, 5.0)
PAGES = 3000


@pytest.fixture(scope="module")
def left() -> dict[str, Curves]:
    return {name: over_budgets(PAGES, BUDGETS, arranged) for name, arranged in ARRANGEMENTS.items()}


def test_weights_are_the_chance_that_a_stale_page_is_noticed() -> None:
    weights = drawn_weights(1000, np.random.default_rng(1))
    assert 0.0 <= weights.min() < weights.max() < 0.1


def test_the_optimum_for_the_weights_is_the_lowest_and_convex(left: dict[str, Curves]) -> None:
    for curves in left.values():
        for points in zip(*(curves[name] for name in SCHEMES), strict=True):
            assert dict(zip(SCHEMES, points, strict=True))["weighted optimal"] == min(points)
        assert held(curves)["weighted optimal convex in the crawls"] == [True]


def test_which_of_the_printed_orders_hold(left: dict[str, Curves]) -> None:
    assert [sum(one) for one in held(left["independent"]).values()] == [3, 0, 0, 3, 3, 0, 1]
    assert [sum(one) for one in held(left["heaviest updated most"]).values()][1:3] == [3, 0]


def test_without_skew_proportional_is_uniform() -> None:
    curves = over_parameters(PAGES, (0.0, 0.5, 1.0))
    assert curves["proportional"][-1] == pytest.approx(curves["uniform"][-1])
    assert curves["weighted proportional"][-1] == pytest.approx(curves["weighted uniform"][-1])
    for points in curves.values():
        assert points[0] < points[1] < points[2]
        assert points[0][1] < points[1][1] < points[2][1]
