"""How much signals are believed."""

from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.signals.evidence import LEAST_PRECISION, TRIALS_KEPT, SignalEvidence

COUNTS = st.builds(SignalEvidence, *(st.floats(0, 1e6) for _ in range(3)))


def test_it_is_believed_as_much_as_it_has_earned() -> None:
    assert SignalEvidence().precision == SignalEvidence().recall == 2 / 3
    seen = SignalEvidence(right=16, wrong=1, missed=47)
    assert (seen.precision, seen.recall) == (18 / 20, 18 / 66)


def test_one_that_lies_is_dropped_and_one_that_mends_its_ways_is_not() -> None:
    seen, needed = SignalEvidence(), 0
    while not seen.is_dropped:
        seen, needed = seen.plus(SignalEvidence(wrong=1.0)), needed + 1
    assert needed == 8
    for _ in range(2):
        seen = seen.plus(SignalEvidence(right=1.0))
    assert not seen.is_dropped


@given(COUNTS, COUNTS)
def test_the_sum_of_two_is_bounded(one: SignalEvidence, other: SignalEvidence) -> None:
    both = one.plus(other)
    assert 0.0 <= both.precision <= 1.0
    assert 0.0 <= both.recall <= 1.0
    total = one.right + one.wrong + one.missed + other.right + other.wrong + other.missed
    assert both.right + both.wrong + both.missed <= max(TRIALS_KEPT, total / 2 + 1e-6)
    assert both.is_dropped is (both.precision < LEAST_PRECISION)
