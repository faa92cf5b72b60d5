"""How much signals are believed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.learning import observe
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.signals.evidence import LEAST_PRECISION, SELDOM_S, TRIALS_KEPT, SignalEvidence, own_chance

COUNTS = st.builds(SignalEvidence, *(st.floats(0, 1e6) for _ in range(5)))


def test_it_is_believed_as_much_as_it_has_earned() -> None:
    assert SignalEvidence().precision == SignalEvidence().recall == 2 / 3
    seen = SignalEvidence(right=16, wrong=1, missed=47)
    assert (seen.precision, seen.recall) == (18 / 20, 18 / 66)


def test_one_that_lies_is_dropped_and_one_that_mends_its_ways_is_not() -> None:
    seen, needed = SignalEvidence(), 0
    while not seen.is_dropped:
        seen, needed = seen.plus(SignalEvidence(wrong=1.0)), needed + 1
    assert (needed, seen.between_polls_s) == (8, SELDOM_S)
    for _ in range(2):
        seen = seen.plus(SignalEvidence(right=1.0))
    assert (seen.is_dropped, seen.between_polls_s) == (False, 0.0)


@given(COUNTS, COUNTS)
def test_the_sum_of_two_is_bounded(one: SignalEvidence, other: SignalEvidence) -> None:
    both = one.plus(other)
    assert 0.0 <= both.precision <= 1.0
    assert 0.0 <= both.recall <= 1.0
    total = one.right + one.wrong + one.missed + other.right + other.wrong + other.missed
    assert both.right + both.wrong + both.missed <= max(TRIALS_KEPT, total / 2 + 1e-6)
    assert both.is_dropped >= (both.precision < LEAST_PRECISION)


def after(signals: int, right: float, chance: float) -> SignalEvidence:
    """The evidence of signals of which a part is right, spread evenly."""
    seen = SignalEvidence()
    for n in range(signals):
        seen = seen.plus(SignalEvidence.judged(changed=int((n + 1) * right) > int(n * right), chance=chance))
    return seen


def test_signals_that_are_right_as_often_as_the_objects_change_anyway_are_dropped() -> None:
    assert not after(7, 0.25, 0.25).is_dropped, "too few were judged"
    for signals in range(8, 400, 7):
        assert after(signals, 0.25, 0.25).is_dropped
        assert after(signals, 0.5, 0.5).is_dropped
        assert not after(signals, 0.25, 0.01).is_dropped
        assert not after(signals, 0.5, 0.1).is_dropped
        assert not after(signals, 1.0, 0.9).is_dropped, "the price of one that is always right is nothing"


def test_what_is_expected_is_the_own_rate_of_the_object_over_the_time_since_the_contact_before() -> None:
    def contact(t_s: float, tag: str) -> Observation:
        return Observation("http://x/", t_s, "", Fingerprint(etag=tag))

    record = observe(None, contact(0.0, "a")).record
    for hour in range(1, 101):
        learnt = observe(record, contact(hour * 3600.0, "b" if hour > 50 else "a"))
        assert own_chance(learnt) == pytest.approx(1.0 - math.exp(-(0.5 + (hour > 51)) / hour)), hour
        record = learnt.record
