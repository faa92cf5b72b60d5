import numpy as np
import pytest

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.replay.papers.refresh.shares import (
    INTERVALS_DAYS,
    REFRESHES_PER_DAY,
    all_shares,
    nearest,
    optimal,
    simple_values,
)

SHARES = np.array([0.2, 0.1, 0.3, 0.0, 0.4])
PAGES = np.repeat(1.0 / INTERVALS_DAYS, (10 * SHARES).round().astype(int))
"""Ten pages in these shares."""


def test_the_simple_values_are_those_of_pages_one_by_one() -> None:
    found = simple_values(SHARES[None, :])
    for allocate, fresh, aged in ((continuous.proportional, *found[:2]), (continuous.uniform, *found[2:])):
        refreshes = allocate(PAGES, None, len(PAGES) * REFRESHES_PER_DAY)
        assert fresh == pytest.approx([objectives.freshness(PAGES, refreshes).mean()])
        assert aged == pytest.approx([objectives.age(PAGES, refreshes).mean()])


@pytest.mark.parametrize("faster", [1.0, 8.0])
def test_the_optimum_of_shares_is_that_of_pages_one_by_one(faster: float) -> None:
    rates, budget = faster * PAGES, len(PAGES) * REFRESHES_PER_DAY
    freshest = objectives.freshness(rates, continuous.freshness(rates, None, budget)).mean()
    youngest = objectives.age(rates, continuous.age(rates, None, budget)).mean()
    assert optimal(SHARES, faster) == pytest.approx((freshest, youngest))


def test_all_shares_are_each_division_once() -> None:
    found = all_shares(4)
    assert len(found) == 70
    assert found.sum(axis=1) == pytest.approx(np.ones(70))
    assert len({tuple(row) for row in found.tolist()}) == 70
    assert found.min() == 0.0


def test_the_nearest_shares_are_those_the_values_were_made_of() -> None:
    printed = [f"{values[0]:.4f}" for values in simple_values(SHARES[None, :])]
    best, distance = nearest(all_shares(10), printed)
    assert best == pytest.approx(SHARES)
    assert distance.min() <= 0.5
