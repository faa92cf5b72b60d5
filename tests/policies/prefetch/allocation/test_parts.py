"""Divisions among parts are those of one machine: any split, any rates and weights, ties, empty parts, bounds."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.allocation.bounded import BoundedDivisions, within_bounds
from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.prefetch.allocation.parts import Derived, InMemory
from bestbefore.policies.prefetch.table import ALLOCATIONS, OBJECTIVES
from bestbefore.policies.units import FloatArray

MAGNITUDES = st.one_of(st.sampled_from([0.0, 1.0, 1.0, 1.5, 2.0, 1e-100, 1e-9, 1e9, 1e100]), st.floats(1e-3, 1e3))

NUMBERS = st.one_of(st.just(0.0), st.floats(1e-9, 50.0))


@dataclass(frozen=True)
class Sent:
    """Parts whose questions and answers pass between processes: both are pickled, and no part keeps anything."""

    parts: tuple[PartColumns, ...]

    def ask[A](self, question: Callable[[PartColumns], A]) -> list[A]:
        sent = pickle.dumps(question)
        return [pickle.loads(pickle.dumps(pickle.loads(sent)(part))) for part in self.parts]


def split(columns: PartColumns, cuts: list[int]) -> Sent:
    edges = [0, *sorted(min(cut, len(columns)) for cut in cuts), len(columns)]
    every = (columns.rates, columns.weights, columns.minimum, columns.maximum)
    return Sent(tuple(
        PartColumns(*(None if one is None else one[start:end] for one in every))  # type: ignore[arg-type]
        for start, end in pairwise(edges)
    ))


def joined(parts: Sent, divide: Callable[[float], Callable[[PartColumns], FloatArray]], budget: float) -> FloatArray:
    return np.concatenate(parts.ask(divide(budget)))


@pytest.mark.parametrize("name", sorted(ALLOCATIONS))
@settings(max_examples=20, deadline=None)
@given(
    objects=st.lists(st.tuples(MAGNITUDES, MAGNITUDES), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=6),
    share=st.sampled_from([1e-6, 0.02, 0.2, 1.0, 5.0, 1e6]),
)
@example([(1.0, 1.0), (1.5, 1.0), (1.5, 1.0)], [1, 2], 0.109)  # equal objects at the edge, in different parts
@example([(1e-100, 1.0), (1.0, 1.0)], [0, 1, 1], 1e6)
def test_a_division_among_parts_is_that_of_one(
    name: str, objects: list[tuple[float, float]], cuts: list[int], share: float
) -> None:
    rates, weights = (np.array(one) for one in zip(*objects, strict=True))
    budget = max(share * float(rates.sum()), 1e-12)
    whole = ALLOCATIONS[name](rates, weights, budget)
    parts = split(PartColumns(rates, weights), cuts)
    found = joined(parts, ALLOCATIONS[name].over(parts), budget)
    check(name, found, whole, rates, weights)


@pytest.mark.parametrize("name", sorted(ALLOCATIONS))
@settings(max_examples=15, deadline=None)
@given(
    objects=st.lists(
        st.tuples(NUMBERS, NUMBERS, st.floats(0.0, 2.0), st.floats(0.0, 20.0)),
        min_size=1, max_size=12,
    ),
    cuts=st.lists(st.integers(0, 12), max_size=6), share=st.floats(0.01, 0.99),
)
def test_within_bounds_too(
    name: str, objects: list[tuple[float, float, float, float]], cuts: list[int], share: float
) -> None:
    rates, weights, least, more = (np.array(one) for one in zip(*objects, strict=True))
    budget = float(least.sum() + share * more.sum()) + 1e-9
    whole = within_bounds(ALLOCATIONS[name], rates, weights, budget, least, least + more)
    parts = split(PartColumns(rates, weights, least, least + more), cuts)
    found = joined(parts, BoundedDivisions(ALLOCATIONS[name], parts), budget)
    check(name, found, whole, rates, weights)
    assert (found >= least).all()
    assert (found <= least + more).all()


def check(name: str, found: FloatArray, whole: FloatArray, rates: FloatArray, weights: FloatArray) -> None:
    """The budget and the objective to 1e-9, and each object's share of the budget."""
    assert found.sum() == pytest.approx(whole.sum(), rel=1e-9)
    if name in OBJECTIVES and weights.any():
        ours, one = (weighted_mean(OBJECTIVES[name].measure(rates, each), weights) for each in (found, whole))
        assert ours == pytest.approx(one, rel=1e-9)


def test_many_objects_in_many_parts_get_what_they_get_in_one() -> None:
    rng = np.random.default_rng(3)
    rates, weights = np.exp(rng.normal(0, 2, 200_000)), rng.pareto(1.2, 200_000)
    for name in ("freshness", "age", "delay"):
        parts = split(PartColumns(rates, weights), [7, 7, 60_000, 60_001, 150_000])
        found = joined(parts, ALLOCATIONS[name].over(parts), 40_000.0)
        np.testing.assert_allclose(found, ALLOCATIONS[name](rates, weights, 40_000.0), rtol=1e-6, atol=1e-9)


def test_derived_parts_are_made_where_they_are_asked() -> None:
    halves = Derived(InMemory((2.0, 3.0)), lambda number: number / 2.0)
    assert halves.ask(lambda half: half) == [1.0, 1.5]
