import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Poisson, RenewalLaw, Weibull
from bestbefore.policies.prefetch.allocation.objectives import freshness
from bestbefore.policies.prefetch.discrete.staleness import staleness, staleness_table
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary

LAWS: list[RenewalLaw] = [
    Poisson(2.0), Weibull(0.5, 1.0), Weibull(3.0, 1.0), Pareto(1.5, 1.0), Empirical.of([0.1, 2.0])
]


def test_at_random_it_is_equation_fourteen() -> None:
    # lambda T = 6, x = 2: 1 + 3/6 (e^-2 - 1)
    assert float(staleness(Poisson(2.0), 2, 3.0, "interval")) == pytest.approx(1 + 0.5 * (math.exp(-2) - 1))


def test_a_plan_that_repeats_leaves_what_is_never_visited_stale() -> None:
    found = staleness(Poisson(2.0), [0, 1, 4], 3.0, "periodic")
    assert_allclose(found[1:], 1 - freshness(np.array([2.0, 2.0]), np.array([1.0, 4.0]) / 3.0), rtol=1e-12)
    assert found[0] == 1.0


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("boundary", ["interval", "periodic"])
def test_each_visit_gains_no_more_than_the_one_before_it(law: RenewalLaw, boundary: Boundary) -> None:
    gained = -np.diff(staleness(law, np.arange(41), 5.0, boundary))
    assert (np.diff(gained) <= 1e-14).all()
    assert (gained >= -1e-14).all()


def test_no_other_two_moments_are_better_than_evenly_spread_ones() -> None:
    law, period = Weibull(0.5, 1.0), 5.0
    best = float(staleness(law, 2, period, "interval"))
    for first in np.linspace(0.1, 4.8, 30):
        for second in np.linspace(first, 4.9, 30):
            stale = law.stale_time(np.array([first, second - first, period - second])).sum() / period
            assert stale >= best - 1e-12


@pytest.mark.parametrize("boundary", ["interval", "periodic"])
def test_a_table_of_many_laws_holds_that_of_each(boundary: Boundary) -> None:
    laws = [*LAWS, Weibull(1.5, 0.2), Poisson(0.1)]
    expected = [staleness(law, np.arange(8), 3.0, boundary) for law in laws]
    assert_allclose(staleness_table(laws, 7, 3.0, boundary), expected, rtol=1e-13)
