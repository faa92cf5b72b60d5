import pytest

from bestbefore.replay.evaluation.curves import Curve, Spread, ratio

CURVE = Curve([(0.01, 0.4), (0.04, 0.1), (0.05, 0.2), (0.0, 0.9)])


def test_validations_are_interpolated_in_logarithms() -> None:
    assert CURVE.validations(0.02) == pytest.approx(0.2)
    assert CURVE.stale(0.2) == pytest.approx(0.02)


def test_a_policy_that_is_less_stale_than_it_may_be_needs_what_it_needs_there() -> None:
    assert CURVE.validations(0.5) == 0.1
    assert CURVE.validations(0.001) == 0.9


def test_what_is_not_reached_is_unknown() -> None:
    assert Curve([(0.05, 0.2), (0.1, 0.1)]).validations(0.01) is None
    assert CURVE.stale(0.05) is None


def test_ratios_of_what_is_unknown_or_nothing_are_unknown() -> None:
    assert (ratio(1.0, 2.0), ratio(None, 2.0), ratio(1.0, None), ratio(1.0, 0.0)) == (0.5, None, None, None)


def test_the_mean_is_geometric_and_of_what_is_known() -> None:
    spread = Spread.among([0.5, None, 2.0])
    assert spread is not None
    assert (spread.mean, spread.least, spread.most, spread.known, spread.of) == (pytest.approx(1.0), 0.5, 2.0, 2, 3)
    unknown = Spread.among([None, None])
    assert unknown is not None
    assert (unknown.known, unknown.of) == (0, 2)
    assert Spread.among([]) is None
