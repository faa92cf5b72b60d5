import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import minimize

from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.allocation.bounded import within_bounds
from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.owned import OwnedDivisions
from bestbefore.policies.prefetch.allocation.parts import InMemory
from bestbefore.policies.prefetch.table import ALLOCATIONS, OBJECTIVES
from bestbefore.policies.units import FloatArray

OWNERS = np.array([0, 0, 1, 2], dtype=np.intp)


def divided(
    name: str, rates: FloatArray, weights: FloatArray, owners: NDArray[np.intp], most: float, budget: float,
    minimum: FloatArray | None = None, maximum: FloatArray | None = None,
) -> FloatArray:
    columns = PartColumns(rates, weights, minimum, maximum, owners=owners)
    return OwnedDivisions(ALLOCATIONS[name], InMemory((columns,)), most)(budget)(columns)


def test_what_an_owner_may_not_have_goes_to_the_others() -> None:
    """Uniform, 12 among 4, two of one owner with at most 4: these get 2 each, the others 4."""
    found = divided("uniform", np.ones(4), np.ones(4), OWNERS, 4.0, 12.0)
    assert_allclose(found, [2.0, 2.0, 4.0, 4.0], rtol=1e-9)


def test_a_budget_above_what_all_owners_may_have_is_left_over() -> None:
    assert_allclose(divided("delay", np.array([1.0, 4.0, 1.0, 0.0]), np.ones(4), OWNERS, 3.0, 90.0), [1, 2, 3, 0])


def test_minimums_of_an_owner_above_its_most_are_refused() -> None:
    with pytest.raises(ValueError, match="the minimums of one domain add up to 4 contacts, but it may have 3 at most"):
        divided("age", np.ones(4), np.ones(4), OWNERS, 3.0, 90.0, minimum=np.full(4, 2.0))


@pytest.mark.parametrize("name", ["freshness", "age"])
def test_a_general_solver_finds_nothing_better(name: str) -> None:
    rng = np.random.default_rng(2)
    measure, sign = OBJECTIVES[name].measure, -1.0 if name == "freshness" else 1.0
    for _ in range(6):
        rates, weights = np.exp(rng.normal(0, 1, 4)), rng.uniform(0.2, 2, 4)
        least, most, budget = rng.uniform(0.05, 0.3, 4), rng.uniform(0.8, 1.5), 2.2
        found = divided(name, rates, weights, OWNERS, most, budget, least, least + 2.0)
        assert found.sum() == pytest.approx(budget, rel=1e-9)
        assert np.bincount(OWNERS, found).max() <= most * (1.0 + 1e-9)
        solved = minimize(
            lambda f, r=rates, w=weights: sign * float((w * measure(r, f)).sum()), least + 0.1,
            bounds=list(zip(least, least + 2.0, strict=True)), method="SLSQP", options={"ftol": 1e-12, "maxiter": 500},
            constraints=[
                {"type": "eq", "fun": lambda f, b=budget: f.sum() - b},
                {"type": "ineq", "fun": lambda f, m=most: m - np.bincount(OWNERS, f, 3)},
            ],
        )
        assert sign * float((weights * measure(rates, found)).sum()) <= solved.fun + 1e-7


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["freshness", "age", "delay"]), st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans(),
    st.floats(0.05, 3.0), st.floats(0.05, 3.0),
)
def test_parts_are_divided_as_all_objects_together(
    name: str, seed: int, number: int, bounded: bool, each: float, of_budget: float
) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    owners = rng.integers(0, 12, n)
    rates, weights = np.exp(rng.normal(0, 2, n)), rng.pareto(1.2, n) * (rng.random(n) < 0.9)
    least, most = (rng.uniform(0, 0.005, n), rng.uniform(0.5, 4, n)) if bounded else (None, None)
    limit, budget = each * n / 12, of_budget * n
    one = divided(name, rates, weights, owners, limit, budget, least, most)
    parts = []
    for part in range(number):
        own = np.flatnonzero(owners % number == part)
        bounds = (None, None) if least is None or most is None else (least[own], most[own])
        parts.append(PartColumns(rates[own], weights[own], *bounds, number=part, owners=owners[own]))
    division = OwnedDivisions(ALLOCATIONS[name], InMemory(tuple(parts)), limit)(budget)
    found = np.concatenate([division(part) for part in parts])
    together = np.argsort(np.concatenate([np.flatnonzero(owners % number == part) for part in range(number)]))
    assert found.sum() == pytest.approx(one.sum(), rel=1e-9)
    measure = OBJECTIVES[name].measure
    known = weights > 0.0
    values = [float((weights[known] * measure(rates[known], f[known])).sum()) for f in (one, found[together])]
    assert values[1] == pytest.approx(values[0], rel=1e-9)
    assert one.sum() <= budget * (1.0 + 1e-9)
    assert np.bincount(owners, one).max() <= limit * (1.0 + 1e-9)


def test_without_owners_at_their_most_it_is_the_bounded_allocation() -> None:
    rates, least, most = np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 0.1), np.full(4, 2.0)
    assert_allclose(
        divided("freshness", rates, np.ones(4), OWNERS, 1e6, 5.0, least, most),
        within_bounds(continuous.freshness, rates, None, 5.0, least, most), rtol=1e-9,
    )
