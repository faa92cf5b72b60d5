"""Objects in parts are divided as those of one process."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.allocation.parts import InMemory
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete import best
from bestbefore.policies.prefetch.discrete.best import best_visits, visit_shares
from bestbefore.policies.prefetch.discrete.gains import PoissonGains
from bestbefore.policies.prefetch.discrete.part_visits import VisitColumns
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary
from bestbefore.policies.units import FloatArray


def in_parts(
    rates: FloatArray, weights: FloatArray, boundary: Boundary, spare: int, least: IntArray, most: IntArray,
    ends: list[int],
) -> IntArray:
    parts = []
    for start, end in pairwise([0, *sorted(ends), len(rates)]):
        own = slice(start, end)
        gains = PoissonGains(rates[own], weights[own], boundary)
        parts.append(VisitColumns(gains, least[own], np.minimum(most[own], least[own] + spare)))
    shares = visit_shares(InMemory(tuple(parts)), len(rates), spare)
    return np.concatenate([part.visits(share) for part, share in zip(parts, shares, strict=True)])


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0, 40.0]), st.sampled_from([0.0, 1.0, 1.0, 2.5]),
                       st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=30),
    st.integers(1, 120), st.sampled_from(["periodic", "interval"]), st.lists(st.integers(0, 30), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_parts_get_the_visits_of_the_whole(
    objects: list[tuple[float, float, int, int]], spare: int, boundary: Boundary, ends: list[int]
) -> None:
    """Many objects are equal here, so that the last visits are chosen among equal gains of several parts."""
    rates, weights = (np.array([row[k] for row in objects]) for k in (0, 1))
    least = np.array([row[2] for row in objects], dtype=np.int64)
    most = least + np.array([row[3] for row in objects], dtype=np.int64)
    expected = best_visits(PoissonGains(rates, weights, boundary), int(least.sum()) + spare, least, most)
    found = in_parts(rates, weights, boundary, spare, least, most, [min(end, len(rates)) for end in ends])
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("equal", [False, True])
def test_many_objects_are_sampled_and_ranked(monkeypatch: pytest.MonkeyPatch, equal: bool) -> None:
    monkeypatch.setattr(best, "SAMPLE", 300)
    monkeypatch.setattr(best, "FEW", 40)
    rng = np.random.default_rng(3)
    n = 2000
    rates = np.full(n, 2.0) if equal else np.exp(rng.normal(0.0, 1.5, n))
    weights, none, most = np.ones(n), np.zeros(n, dtype=np.int64), np.full(n, 50)
    expected = best_visits(PoissonGains(rates, weights, "periodic"), 3001, none, most)
    found = in_parts(rates, weights, "periodic", 3001, none, most, [3, 700, 700, 1400])
    assert found.tolist() == expected.tolist()
    assert int(found.sum()) == 3001
