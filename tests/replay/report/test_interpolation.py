import doctest

import pytest

from bestbefore.replay.report import interpolation
from bestbefore.replay.report.interpolation import crossing


def test_crossings_are_as_the_example_says() -> None:
    assert doctest.testmod(interpolation) == (0, 1)


def test_of_several_crossings_the_least_counts_and_points_without_a_logarithm_are_left_out() -> None:
    curve = [(0.0, 9.0), (1.0, 8.0), (4.0, 2.0), (1.0, 4.0)]
    assert crossing(curve, 2.0) == pytest.approx(8.0**0.5)
    assert crossing(curve, 0.5) is None
