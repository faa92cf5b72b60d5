"""The interval of the share of stale hits."""

import doctest

import pytest

from bestbefore.addon.reports import stale


def test_the_examples_hold() -> None:
    assert doctest.testmod(stale).failed == 0


@pytest.mark.parametrize(("shown", "low", "high"), [(1, 0.0253, 5.57), (10, 4.80, 18.4), (50, 37.1, 65.9)])
def test_the_bounds_are_those_of_garwood_within_a_few_percent(shown: int, low: float, high: float) -> None:
    """Printed in tables of the Poisson distribution."""
    assert [shown * factor for factor in stale.factors(shown)] == pytest.approx([low, high], rel=0.04, abs=0.03)
