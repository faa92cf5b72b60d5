"""Fits beside scipy's, and beside the law that the intervals were drawn from."""

import math

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.fit import (
    anderson_darling,
    fit_best,
    fit_empirical,
    fit_pareto,
    fit_poisson,
    fit_weibull,
)
from bestbefore.policies.models.renewal.laws import Empirical, Pareto, Poisson, Weibull
from bestbefore.policies.units import FloatArray


def drawn(law: str, n: int = 800, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    match law:
        case "poisson":
            return rng.exponential(3.0, n)
        case "weibull":
            return 2.0 * rng.weibull(0.6, n)
        case "regular":
            return 2.0 * rng.weibull(4.0, n)
        case _:
            return 5.0 * rng.pareto(1.7, n)


def test_the_rate_is_updates_over_time_observed() -> None:
    assert fit_poisson([1.0, 2.0], censored=3.0).law == Poisson(2 / 6)


@pytest.mark.parametrize("law", ["weibull", "regular"])
def test_a_weibull_law_is_fitted_as_scipy_does(law: str) -> None:
    intervals = drawn(law)
    fit = fit_weibull(intervals)
    shape, _, scale = scipy.stats.weibull_min.fit(intervals, floc=0)
    assert isinstance(fit.law, Weibull)
    assert_allclose([fit.law.shape, fit.law.scale], [shape, scale], rtol=1e-4)
    assert fit.log_likelihood == pytest.approx(float(scipy.stats.weibull_min.logpdf(intervals, shape, 0, scale).sum()))


def test_a_pareto_law_is_fitted_as_scipy_does() -> None:
    intervals = drawn("pareto")
    fit = fit_pareto(intervals)
    assert fit is not None
    shape, _, scale = scipy.stats.lomax.fit(intervals, floc=0)
    assert isinstance(fit.law, Pareto)
    assert_allclose([fit.law.shape, fit.law.scale], [shape, scale], rtol=1e-2)
    assert fit.log_likelihood >= float(scipy.stats.lomax.logpdf(intervals, shape, 0, scale).sum()) - 1e-6


def test_a_pareto_law_without_a_mean_is_no_fit() -> None:
    assert fit_pareto(np.random.default_rng(0).pareto(0.6, 500)) is None


@pytest.mark.parametrize("fit", [fit_weibull, fit_pareto])
def test_no_parameters_near_those_fitted_are_more_likely(fit: object) -> None:
    intervals, censored = drawn("pareto", 200), 40.0
    best = fit(intervals, censored)  # type: ignore[operator]
    kind = type(best.law)
    for shape in (0.99, 1.0, 1.01):
        for scale in (0.99, 1.0, 1.01):
            near = kind(best.law.shape * shape, best.law.scale * scale)
            likelihood = near.log_density(intervals).sum() + near.log_tail(np.array([censored])).sum()
            assert likelihood <= best.log_likelihood + 1e-9


@pytest.mark.parametrize(
    ("law", "kind"), [("poisson", Poisson), ("weibull", Weibull), ("regular", Weibull), ("pareto", Pareto)]
)
def test_the_law_that_intervals_were_drawn_from_is_chosen(law: str, kind: type) -> None:
    for seed in range(5):
        fit = fit_best(drawn(law, seed=seed))
        assert isinstance(fit.law, kind)
        assert fit.anderson_darling < 2.5


@pytest.mark.parametrize(("fit", "parameters"), [(fit_poisson, 1), (fit_weibull, 2)])
def test_the_criterion_is_finite_with_two_intervals_more_than_parameters(fit, parameters: int) -> None:
    n = parameters + 2
    found = fit([1.0, 2.0, 4.0, 5.0][:n])
    assert found.aicc == pytest.approx(2 * parameters * (1 + (parameters + 1) / 1) - 2 * found.log_likelihood)
    assert fit([1.0, 2.0, 4.0][: n - 1]).aicc == math.inf


def test_what_no_law_describes_is_taken_as_seen() -> None:
    # an update at 1 or at 24, nothing between
    intervals = [1.0] * 40 + [24.0] * 40
    assert isinstance(fit_best(intervals).law, Empirical)
    assert isinstance(fit_best(intervals[38:42]).law, Poisson | Weibull | Pareto)


def test_of_one_or_two_intervals_only_the_rate_is_believed() -> None:
    assert fit_best([5.0]).law == Poisson(0.2)
    assert fit_best([5.0, 5.0]).law == Poisson(0.2)
    assert fit_best([5.0, 5.0], censored=30.0).law == Poisson(2 / 40)


def test_equal_intervals_have_the_largest_shape() -> None:
    fit = fit_weibull([3.0] * 10)
    assert isinstance(fit.law, Weibull)
    assert fit.law.shape == 100.0
    assert fit.law.mean == pytest.approx(3.0, rel=0.01)


def test_a_long_silence_slows_every_law() -> None:
    intervals = drawn("weibull", 50)
    for fit in (fit_poisson, fit_weibull):
        assert fit(intervals, 500.0).law.mean > fit(intervals).law.mean


def test_the_distance_of_one_interval_is_that_of_the_definition() -> None:
    # n = 1: A^2 = -1 - ln G - ln(1 - G), least at the median
    at_median = anderson_darling(Poisson(math.log(2)), np.array([1.0]))
    assert at_median == pytest.approx(-1 + 2 * math.log(2))


def test_the_distance_from_the_law_they_were_drawn_from_exceeds_2_492_one_time_in_twenty() -> None:
    law = Weibull(0.6, 2.0)
    distances = [anderson_darling(law, drawn("weibull", 60, seed)) for seed in range(2000)]
    assert np.mean(np.array(distances) > 2.492) == pytest.approx(0.05, abs=0.012)


def test_the_empirical_law_is_what_was_seen() -> None:
    assert fit_empirical([2.0, 1.0]).law.mean == 1.5


@pytest.mark.parametrize("censored", [-1.0, math.nan, math.inf])
def test_a_time_since_the_last_update_is_a_number_from_zero_up(censored: float) -> None:
    for fit in (fit_poisson, fit_weibull, fit_pareto, fit_best):
        with pytest.raises(ValueError, match="the time since the last update is"):
            fit([1.0, 2.0, 3.0], censored)
