"""The laws beside equation 3 of the paper, integrated numerically, and beside each other where they meet."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Poisson, RenewalLaw, Weibull

LAWS: list[RenewalLaw] = [
    Poisson(0.7), Weibull(0.5, 2.0), Weibull(1.0, 2.0), Weibull(3.0, 0.4), Weibull(100.0, 1.0),
    Pareto(1.2, 0.3), Pareto(2.0, 1.0), Pareto(2.0 + 1e-9, 1.0), Pareto(7.0, 5.0), Empirical.of([1.0, 3.0, 0.2]),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


def tail(law: RenewalLaw, t: float) -> float:
    return math.exp(float(law.log_tail(np.array([t]))[0]))


@each_law
def test_the_mean_is_the_integral_of_the_tail(law: RenewalLaw) -> None:
    if isinstance(law, Empirical):
        assert law.mean == pytest.approx(1.4)
        return
    # with t = e^x - 1, as the tail may be heavy
    integral = quad(lambda x: tail(law, math.expm1(x)) * math.exp(x), 0, 300, limit=2000)[0]
    assert law.mean == pytest.approx(integral, rel=1e-6)


@each_law
@pytest.mark.parametrize("tau", [0.05, 0.7, 4.0])
def test_the_stale_time_is_equation_three(law: RenewalLaw, tau: float) -> None:
    # 1/mean of the tail is the density of the time to the next update; it then leaves tau - t stale
    breaks = sorted(d for d in (0.2, 1.0, 3.0) if d < tau) or None
    expected = quad(lambda t: (tau - t) * tail(law, t) / law.mean, 0, tau, points=breaks, epsabs=1e-13)[0]
    assert float(law.stale_time(np.array([tau]))[0]) == pytest.approx(expected, rel=1e-9)


@each_law
def test_the_stale_time_is_convex_and_no_longer_than_the_time(law: RenewalLaw) -> None:
    tau = np.linspace(0.0, 10.0, 400)
    stale = law.stale_time(tau)
    assert stale[0] == 0.0
    assert (np.diff(stale, 2) > -1e-14).all()
    assert (stale <= tau).all()


@each_law
def test_of_a_short_time_the_square_over_twice_the_mean_is_stale(law: RenewalLaw) -> None:
    tau = np.array([1e-7, 1e-9])
    tolerance = 1e-3 if isinstance(law, Weibull) and law.shape < 1 else 1e-6
    assert_allclose(law.stale_time(tau), tau**2 / (2 * law.mean), rtol=tolerance)


def test_at_random_the_first_contact_finds_equation_ten() -> None:
    # rate 2, an interval of 1.5: 1.5 - (1 - e^-3) / 2
    assert float(Poisson(2.0).stale_time(np.array([1.5]))[0]) == pytest.approx(1.5 - (1 - math.exp(-3)) / 2)


def test_a_weibull_law_of_shape_one_is_a_poisson_process() -> None:
    tau = np.geomspace(0.01, 100, 50)
    assert_allclose(Weibull(1.0, 0.5).stale_time(tau), Poisson(2.0).stale_time(tau), rtol=1e-9)


def test_a_pareto_law_tends_to_a_poisson_process() -> None:
    tau = np.geomspace(0.01, 10, 50)
    assert_allclose(Pareto(1e8, 0.5e8).stale_time(tau), Poisson(2.0).stale_time(tau), rtol=1e-6)


def test_the_series_and_the_closed_form_meet() -> None:
    for law, at in (
        (Poisson(1.0), 0.01), (Weibull(0.5, 1.0), 1e-16), (Weibull(4.0, 1.0), 0.01),
        (Pareto(1.5, 1.0), 1e-4 / 1.5), (Pareto(9.0, 1.0), 1e-4 / 9),
    ):
        below, above = law.stale_time(np.array([at * (1 - 1e-13), at * (1 + 1e-13)]))
        assert below == pytest.approx(above, rel=1e-10, abs=0.0)


@pytest.mark.parametrize("shape", [1.0 + 1e-12, 1.000001, 1.001, 1.3, 1.499, 1.501, 1.8])
def test_a_pareto_law_next_to_those_without_a_mean_loses_no_digits(shape: float) -> None:
    tau = np.geomspace(1e-3, 1e12, 61)
    with localcontext(prec=60):
        c = Decimal(shape) - 1
        exact = [float(x - (((1 - c) * (1 + x).ln()).exp() - 1) / (1 - c)) for x in map(Decimal, tau.tolist())]
    assert_allclose(Pareto(shape, 1.0).stale_time(tau), exact, rtol=1e-11)


def test_equal_intervals_leave_a_copy_stale_for_half_the_time_after_each() -> None:
    # an update each 2: of the first 2 after a contact half is stale on average, and all that follows
    assert Empirical.of([2.0]).stale_time(np.array([1.0, 2.0, 5.0])).tolist() == [0.25, 1.0, 4.0]


def test_the_staleness_of_regular_updates_is_that_of_simulated_ones() -> None:
    rng = np.random.default_rng(3)
    law = Weibull(3.0, 1.0)
    updates = np.cumsum(rng.weibull(3.0, 400_000))
    contacts = np.arange(100.0, 300_000.0, 1.3)
    after = updates[np.searchsorted(updates, contacts)]
    stale = np.maximum(contacts + 1.3 - after, 0.0)
    assert float(stale.mean()) == pytest.approx(float(law.stale_time(np.array([1.3]))[0]), rel=0.01)


def test_a_law_of_a_mean_has_it() -> None:
    assert Weibull.of_mean(0.5, 3.0).mean == pytest.approx(3.0)
    assert Weibull.of_mean(0.5, 3.0).scale == pytest.approx(1.5)
    assert Pareto.of_mean(1.5, 3.0) == Pareto(1.5, 1.5)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Poisson(0.0), "the rate of a Poisson process is 0.0"),
        (lambda: Weibull(math.nan, 1.0), "the shape of a Weibull law is nan"),
        (lambda: Weibull(1.0, -1.0), "the scale of a Weibull law is -1.0"),
        (lambda: Pareto(1.0, 1.0), "the shape of a Pareto law is 1.0, expected more than 1: else it has no mean"),
        (lambda: Pareto(2.0, math.inf), "the scale of a Pareto law is inf"),
        (lambda: Pareto.of_mean(0.5, 1.0), "the shape of a Pareto law is 0.5"),
        (lambda: Weibull.of_mean(0.0, 1.0), "the shape of a Weibull law is 0.0"),
        (lambda: Weibull.of_mean(0.001, 1.0), "the shape of a Weibull law is 0.001, too small"),
        (lambda: Pareto.of_mean(1.5, -1.0), "the scale of a Pareto law is -0.5"),
        (lambda: Empirical.of([]), "no interval between updates"),
        (lambda: Empirical.of([1.0, 0.0]), "interval 1 between updates is 0.0"),
    ],
)
def test_parameters_without_meaning_are_refused(make: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("law", [Poisson(1.0), Weibull(3.0, 1.0), Pareto(3.0, 1.0)])
def test_a_copy_that_was_left_for_very_long_is_stale_all_the_time(law: RenewalLaw) -> None:
    assert law.stale_time(np.array([1e200]))[0] == 1e200
