import math

import numpy as np
import pytest

from bestbefore.replay.multicast.seed_mean import SeedMean


def test_the_interval_of_two_values_is_that_of_student() -> None:
    found = SeedMean.of([1.0, 3.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(12.706, abs=0.001)


def test_one_value_has_no_interval() -> None:
    assert math.isinf(SeedMean.of([0.5]).half_width)
    assert SeedMean.of([0.5]).text(3) == "0.500"


def test_the_mean_of_an_infinite_value_is_not_shown() -> None:
    assert SeedMean.of([1.0, math.inf]).text(2) == SeedMean.of([math.inf]).text(2) == "–"


def test_it_covers_the_mean_19_times_in_20() -> None:
    rng = np.random.default_rng(1)
    found = [SeedMean.of(rng.normal(7.0, 2.0, 5).tolist()) for _ in range(2000)]
    assert np.mean([abs(one.mean - 7.0) <= one.half_width for one in found]) == pytest.approx(0.95, abs=0.015)
