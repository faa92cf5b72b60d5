"""The multiplier search, beside a solution by bisection in 80 decimal digits and scipy's general solver."""

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.allocation.columns import MANY
from bestbefore.policies.prefetch.allocation.continuous import age as youngest
from bestbefore.policies.prefetch.allocation.continuous import freshness as freshest
from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.units import FloatArray

DIGITS = 80
BUDGETS = [1e-6, 0.2, 3.0, 1e6]
"""Of the sum of the rates."""
SOME_BUDGETS = [0.2, *(pytest.param(budget, marks=pytest.mark.slow) for budget in BUDGETS if budget != 0.2)]


def newton(residual: Callable[[Decimal], tuple[Decimal, Decimal]], start: Decimal) -> Decimal:
    x = start
    for _ in range(100):
        value, slope = residual(x)
        step = value / slope
        x = x - step if step < x else x / 2
        if abs(step) < abs(x) * Decimal("1e-32"):
            break
    return x


def exact_freshest(rates: Sequence[float], weights: Sequence[float], budget: float) -> list[float]:
    """By bisection on ln L, where L = -ln(1 - y) of the best object; one equation solved for each object."""
    live = [(Decimal(r), Decimal(r) / Decimal(w)) for r, w in zip(rates, weights, strict=True) if r and w]
    least = min(key for _, key in live)

    def refreshes(x: Decimal) -> list[Decimal]:
        left = (-x.exp()).exp()  # 1 - y of the best object
        answer = []
        for rate, key in live:
            remains = left * (key / least) - (key - least) / least  # 1 - y, whatever is left of it
            if remains <= 0:
                answer.append(Decimal(0))
                continue
            s = -remains.ln()
            start = (2 * s).sqrt() + s
            ratio = newton(lambda r, s=s: (r - (1 + r).ln() - s, r / (1 + r)), start)  # type: ignore[misc]
            answer.append(rate / ratio)
        return answer

    return bisected(refreshes, -100, 30, budget, rates, weights)


def exact_youngest(rates: Sequence[float], weights: Sequence[float], budget: float) -> list[float]:
    """By bisection on ln mu."""
    live = [(Decimal(r), Decimal(r) ** 2 / Decimal(w)) for r, w in zip(rates, weights, strict=True) if r and w]

    def refreshes(x: Decimal) -> list[Decimal]:
        answer = []
        for rate, key in live:
            v = x.exp() * key
            start = (3 * v) ** (Decimal(1) / 3) + (2 * v).sqrt()
            ratio = newton(
                lambda r, v=v: (r * r / 2 - 1 + (1 + r) * (-r).exp() - v, r * (1 - (-r).exp())), start  # type: ignore[misc]
            )
            answer.append(rate / ratio)
        return answer

    return bisected(refreshes, -200, 200, budget, rates, weights)


def bisected(
    refreshes: Callable[[Decimal], list[Decimal]], low: int, high: int, budget: float,
    rates: Sequence[float], weights: Sequence[float],
) -> list[float]:
    def excess(x: Decimal) -> Decimal:
        total = sum(refreshes(x))
        return (total / Decimal(budget)).ln() if total else Decimal(-10**6)

    above, below = Decimal(low), Decimal(high)
    left, right = excess(above), excess(below)
    for step in range(200):
        # the Illinois method, and every third time the middle
        middle = (above + below) / 2 if step % 3 == 0 else (above * right - below * left) / (right - left)
        value = excess(middle)
        if value > 0:
            above, left, right = middle, value, right / 2
        else:
            below, right, left = middle, value, left / 2
        if abs(value) < Decimal("1e-15"):
            break
    more, less = refreshes(above), refreshes(below)
    # an object at the edge may need more digits than these: between the two, all is as good
    share = (Decimal(budget) - sum(less)) / (sum(more) - sum(less))
    found = iter([a + share * (b - a) for a, b in zip(less, more, strict=True)])
    return [float(next(found)) if r and w else 0.0 for r, w in zip(rates, weights, strict=True)]


def problems() -> list[tuple[list[float], list[float]]]:
    rng = np.random.default_rng(5)
    return [
        ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5),
        ([3.0] * 4, [2.0] * 4),
        ([2.0, 0.0, 1.0, 4.0], [1.0, 1.0, 0.0, 3.0]),
        ([1e-9, 1.0, 1e9], [1.0, 1.0, 1.0]),
        ([1.0, 1.0, 1.0], [1e-9, 1.0, 1e9]),
        ([1.0, 1.0 + 1e-12, 1.5], [1.0, 1.0, 1.0]),
        (list(np.exp(rng.normal(0, 2, 5))), list(np.exp(rng.normal(0, 2, 5)))),
    ]


@pytest.mark.parametrize("budget", SOME_BUDGETS)
@pytest.mark.parametrize(("rates", "weights"), problems())
def test_the_freshest_is_that_of_many_digits(rates: list[float], weights: list[float], budget: float) -> None:
    spent = budget * sum(rates)
    found = freshest(np.array(rates), np.array(weights), spent)
    with localcontext(prec=DIGITS):
        exact = np.array(exact_freshest(rates, weights, spent))
    check(objectives.freshness, rates, weights, spent, found, exact)


@pytest.mark.parametrize("budget", SOME_BUDGETS)
@pytest.mark.parametrize(("rates", "weights"), problems())
def test_the_youngest_is_that_of_many_digits(rates: list[float], weights: list[float], budget: float) -> None:
    spent = budget * sum(rates)
    found = youngest(np.array(rates), np.array(weights), spent)
    with localcontext(prec=DIGITS):
        exact = np.array(exact_youngest(rates, weights, spent))
    assert_allclose(found, exact, rtol=1e-6)
    check(objectives.age, rates, weights, spent, found, exact)


def check(
    measure: objectives.Measure, rates: list[float], weights: list[float], budget: float, found: FloatArray,
    exact: FloatArray,
) -> None:
    """The budget to 1e-12, the objective to 1e-9, each share to 1e-6; what must get nothing gets exactly 0."""
    assert found.sum() == pytest.approx(budget, rel=1e-12)
    assert exact.sum() == pytest.approx(budget, rel=1e-9)
    args = np.array(rates), np.array(weights)
    ours, best = (weighted_mean(measure(args[0], refreshes), args[1]) for refreshes in (found, exact))
    assert ours == pytest.approx(best, rel=1e-9)
    assert (found >= 0).all()
    assert (found[(args[0] == 0) | (args[1] == 0)] == 0).all()
    # an object at the very edge may lie on either side of it: its share is then of no consequence
    clear = exact > 0.04 * args[0]
    assert_allclose(found[clear], exact[clear], rtol=1e-6)
    if measure is objectives.freshness:
        assert (found[exact == 0] == 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_no_better_allocation_is_found_by_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates, weights = np.exp(rng.normal(0, 1, 6)), np.exp(rng.normal(0, 1, 6))
    budget = float(rates.sum() * rng.uniform(0.2, 2))
    for solve, measure, sign in ((freshest, objectives.freshness, -1.0), (youngest, objectives.age, 1.0)):
        found = solve(rates, weights, budget)
        general = minimize(
            lambda f, measure=measure, sign=sign: sign * weighted_mean(measure(rates, f), weights),
            np.full(6, budget / 6), method="SLSQP", bounds=[(1e-9, None)] * 6,
            constraints={"type": "eq", "fun": lambda f: f.sum() - budget}, options={"ftol": 1e-13, "maxiter": 500},
        )
        ours = sign * weighted_mean(measure(rates, found), weights)
        assert ours <= general.fun + 1e-8 * abs(general.fun)
        assert ours == pytest.approx(general.fun, rel=1e-5)


@pytest.mark.parametrize("budget", [0.001, 0.2, 5.0])
@pytest.mark.parametrize("n", [20_000, 300_000])
def test_among_many_objects_all_gain_the_same_by_one_more_refresh(n: int, budget: float) -> None:
    rng = np.random.default_rng(n)
    rates, weights = np.exp(rng.normal(0, 2, n)), rng.pareto(1.2, n)
    rates[::17] = 0.0
    weights[::23] = 0.0
    spent = budget * float(rates.sum())
    live = (rates > 0) & (weights > 0)

    f = freshest(rates, weights, spent)
    assert f.sum() == pytest.approx(spent, rel=1e-12)
    refreshed = f > 0
    assert not refreshed[~live].any()
    r = rates[refreshed] / f[refreshed]
    gains = weights[refreshed] * (1 - (1 + r) * np.exp(-r)) / rates[refreshed]
    multiplier = float(np.median(gains))
    assert_allclose(gains, multiplier, rtol=1e-6)
    given_up = live & ~refreshed
    assert (weights[given_up] / rates[given_up] <= multiplier * (1 + 1e-6)).all()

    f = youngest(rates, weights, spent)
    assert f.sum() == pytest.approx(spent, rel=1e-12)
    assert ((f > 0) == live).all()
    r = rates[live] / f[live]
    gained = np.where(r < 0.01, r**3 / 3 - r**4 / 8, r * r / 2 - 1 + (1 + r) * np.exp(-r))
    gains = weights[live] * gained / rates[live] ** 2
    assert_allclose(gains, np.median(gains), rtol=1e-4)


def test_equal_objects_get_equal_shares_however_many_they_are() -> None:
    n = MANY + 5
    for budget in (1e-6, 0.1, 10.0):
        for solve in (freshest, youngest):
            shares = solve(np.full(n, 3.0), np.full(n, 0.7), budget * n)
            assert_allclose(shares, budget, rtol=1e-12)


def test_of_equal_objects_at_the_edge_of_being_given_up_each_gets_the_same() -> None:
    # the best object alone takes the budget up to 1 - y = 1/3, where the two others begin to be worth a refresh
    rates = np.array([1.0, 1.5, 1.5])
    for budget in (0.436, 0.437, 0.44, 0.5):
        shares = freshest(rates, np.ones(3), budget)
        assert shares[1] == shares[2]
        assert shares.sum() == pytest.approx(budget, rel=1e-12)


def test_objects_without_gain_get_no_refreshes() -> None:
    for solve in (freshest, youngest):
        assert solve(np.zeros(3), np.ones(3), 1.0).tolist() == [0.0, 0.0, 0.0]
        assert solve(np.ones(3), np.zeros(3), 1.0).tolist() == [0.0, 0.0, 0.0]
        assert solve(np.zeros(0), np.zeros(0), 1.0).tolist() == []


def test_the_scale_of_weights_does_not_matter_and_that_of_rates_is_that_of_the_budget() -> None:
    rng = np.random.default_rng(2)
    rates, weights = np.exp(rng.normal(0, 1, 50)), np.exp(rng.normal(0, 1, 50))
    for solve in (freshest, youngest):
        plain = solve(rates, weights, 10.0)
        assert_allclose(solve(rates, weights * 1e-100, 10.0), plain, rtol=1e-6)
        assert_allclose(solve(rates * 1e100, weights, 10.0 * 1e100), plain * 1e100, rtol=1e-6)
        assert_allclose(solve(rates * 1e-100, weights, 10.0 * 1e-100), plain * 1e-100, rtol=1e-6)


def test_objects_with_neither_rate_nor_weight_do_not_hide_others_beyond_the_table() -> None:
    rates, weights = np.array([1e-30, 1e-20, 1.0, 0.0]), np.array([1.0, 1.0, 1e9, 0.0])
    f = youngest(rates, weights, 1e6)
    assert f[3] == 0.0
    # r is small everywhere: w r^3 / 3 / lambda^2 is the same, so f goes with (w lambda)^(1/3)
    assert_allclose(f[:3] / f[2], np.cbrt(rates * weights)[:3] / 1e3, rtol=1e-5)


@pytest.mark.parametrize("rarely", [1e-100, 1e-200, 1e-290, 5e-324])
def test_an_object_that_hardly_ever_changes_does_not_take_the_budget(rarely: float) -> None:
    for budget in (0.1, 10.0):
        f = freshest(np.array([rarely, 1.0]), np.ones(2), budget)
        assert f[1] == pytest.approx(budget, rel=1e-12)


@pytest.mark.parametrize(
    ("rates", "weights", "budget"),
    [
        ([1e290, 1.0], [1e-290, 1.0], 1e290), ([1e290, 1.0], [1e-10, 1.0], 1e290), ([1e-200], [1.0], 1.0),
        ([1e-300, 1e290], [1.0, 1.0], 1.0), ([1.0, 2.0], [1.0, 1.0], 1e290),
        ([1.0, 2.0], [1.0, 1.0], 1e-290), ([1e290] * 3, [1e290] * 3, 1.0), ([5e-324, 1.0], [1.0, 5e-324], 1.0),
        ([1.0, 2.0], [1e-320, 1e-320], 1.0), ([1e-300, 1e280], [1e290, 1e-300], 1.0),
    ],
)
def test_the_ends_of_float64_are_survived(rates: list[float], weights: list[float], budget: float) -> None:
    for solve in (freshest, youngest):
        shares = solve(np.array(rates), np.array(weights), budget)
        assert (shares >= 0.0).all()
        assert shares.sum() == pytest.approx(budget, rel=1e-12)


@pytest.mark.parametrize("budget", [1e-9, 1.0, 1e9, 1e15])
def test_what_never_changes_is_never_refreshed(budget: float) -> None:
    for solve in (freshest, youngest):
        found = solve(np.array([1.0, 0.0]), np.ones(2), budget)
        assert found.tolist() == pytest.approx([budget, 0.0])
