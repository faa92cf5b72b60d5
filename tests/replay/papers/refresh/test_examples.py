import numpy as np
import pytest

from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.replay.papers.refresh.examples import (
    EXAMPLE_5_4,
    EXAMPLE_6_2,
    Example,
    Goal,
    age_gain,
    curve,
    freshness_gain,
    peak,
    write,
)
from bestbefore.replay.report.page import Page

CASES = [(example, goal) for example in (EXAMPLE_5_4, EXAMPLE_6_2) for goal in example.goals]


@pytest.mark.parametrize(("example", "goal"), CASES)
def test_the_printed_refreshes_are_found(example: Example, goal: Goal) -> None:
    # 0.8349 is printed 0.84
    assert example.refreshes(goal) == pytest.approx([float(text) for text in goal.printed], abs=0.0052)
    assert sum(example.refreshes(goal)) == pytest.approx(example.budget)


@pytest.mark.parametrize(("example", "goal"), CASES)
def test_the_curve_goes_through_each_element(example: Example, goal: Goal) -> None:
    for weight in set(example.weights):
        points = curve(goal, example.multiplier(goal), weight, 10.0)
        for rate, own, refreshes in zip(example.rates, example.weights, example.refreshes(goal), strict=True):
            if own == weight and refreshes > 0.0:
                assert min(abs(x - rate) + abs(y - refreshes) for x, y in points) < 0.02


def test_what_a_refresh_gains_is_a_derivative() -> None:
    rate, refreshes, step = np.array([2.0]), np.array([1.5]), 1e-6
    for measure, gained in (
        (objectives.freshness, freshness_gain(rate / refreshes) / rate),
        (objectives.age, -age_gain(rate / refreshes) / rate**2),
    ):
        slope = (measure(rate, refreshes + step) - measure(rate, refreshes - step)) / (2 * step)
        assert slope == pytest.approx(gained, rel=1e-6)


def test_the_freshness_curve_is_highest_where_the_paper_says() -> None:
    assert peak() == pytest.approx((0.5352, 0.2984), abs=1e-4)


def test_printed_and_found_stand_beside_each_other() -> None:
    page = Page("refresh", "made")
    write(page)
    assert "| e1: 1 changes a day, weight 1 | 0.84 | 0.835 | -0.005 |" in page.markdown
    assert "| e23: 3 changes a day, weight 2 | 1.62 | 1.621 | +0.001 |" in page.markdown
