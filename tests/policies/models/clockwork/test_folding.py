"""Spans of a circle with the most phases."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.models.clockwork.folding import apart, fullest_spans, joined, span_of

PHASES = st.lists(st.integers(0, 99), min_size=1, max_size=40).map(lambda phases: np.array(phases, dtype=np.float64))


@given(phases=PHASES, length=st.integers(1, 30))
def test_the_first_span_is_the_fullest(phases: np.ndarray, length: int) -> None:
    spans = fullest_spans(phases, 100.0, float(length), 1)
    most = max(int(np.sum((phases - start) % 100.0 <= length)) for start in phases)
    if most >= max(4, 0.1 * phases.size):
        ((from_s, until_s),) = spans
        assert 0.0 <= until_s - from_s <= length
        assert np.sum((phases - from_s) % 100.0 <= until_s - from_s) == most
    else:
        assert spans == []


@given(phases=PHASES, length=st.integers(1, 30), number=st.integers(1, 4))
def test_each_phase_is_in_one_span_at_most(phases: np.ndarray, length: int, number: int) -> None:
    spans = fullest_spans(phases, 100.0, float(length), number)
    assert len(spans) <= number
    held = span_of(phases, 100.0, spans, 0.0)
    for k in range(len(spans)):
        assert np.sum(held == k) >= 1
    inside = [(phases - a) % 100.0 <= b - a for a, b in spans]
    assert np.array_equal(held >= 0, np.any(inside, axis=0) if inside else np.zeros(phases.size, bool))


def test_of_a_burst_the_first_is_kept() -> None:
    assert apart(np.array([0.0, 5.0, 9.0, 30.0, 100.0, 101.0]), 10.0).tolist() == [0.0, 30.0, 100.0]
    assert apart(np.empty(0), 10.0).size == 0


def test_near_spans_are_joined_around_the_circle_too() -> None:
    assert joined([(5.0, 8.0), (10.0, 12.0), (50.0, 60.0), (90.0, 99.0)], 100.0, 3.0) == [
        (5.0, 12.0),
        (50.0, 60.0),
        (90.0, 99.0),
    ]
    assert joined([(5.0, 8.0), (50.0, 60.0), (90.0, 99.0)], 100.0, 6.0) == [(50.0, 60.0), (90.0, 108.0)]
    assert joined([(5.0, 8.0)], 100.0, 99.0) == [(5.0, 8.0)]
    assert joined([], 100.0, 5.0) == []
