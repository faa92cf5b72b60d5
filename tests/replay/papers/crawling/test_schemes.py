import numpy as np
import pytest

from bestbefore.replay.papers.crawling.pages import MIXED, Pages, zipf_rates
from bestbefore.replay.papers.crawling.schemes import (
    UNWEIGHTED,
    WEIGHTED,
    in_proportion,
    is_convex,
    mean_staleness,
)


def test_numbers_are_cut_off_and_given_to_those_that_lost_most() -> None:
    assert in_proportion(np.array([5.0, 3.0, 2.0]), 4).tolist() == [2, 1, 1]
    assert in_proportion(np.ones(4), 6).tolist() == [2, 2, 1, 1]
    assert in_proportion(np.array([0.0, 1.0]), 3).tolist() == [0, 3]


@pytest.mark.parametrize("scheme", {**UNWEIGHTED, **WEIGHTED}.values())
def test_each_scheme_uses_the_budget(scheme) -> None:
    pages = Pages.of(zipf_rates(40, 0.0), MIXED, np.random.default_rng(1))
    visits = scheme(pages, np.random.default_rng(2).random(40), 60)
    assert visits.sum() == 60
    assert visits.min() >= 0


def test_weights_weigh_the_staleness() -> None:
    pages = Pages.of(np.array([1.0, 4.0]), {kind: share / 0.6 for kind, share in MIXED.items() if share == 0.6},
                     np.random.default_rng(1))
    visits = np.array([0, 1])
    own = pages.staleness(visits)
    assert mean_staleness(pages, np.array([3.0, 1.0]), visits) == pytest.approx((3 * own[0] + own[1]) / 4)


def test_convex_is_what_turns_upwards() -> None:
    assert is_convex([(0.0, 3.0), (1.0, 1.0), (3.0, 0.0)])
    assert not is_convex([(0.0, 3.0), (1.0, 2.5), (3.0, 0.0)])
