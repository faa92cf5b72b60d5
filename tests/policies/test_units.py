from datetime import timedelta

import numpy as np

from bestbefore.policies.units import BINS, DAY_S, HOUR_S


def test_durations_are_in_seconds_and_bins_fill_the_day():
    assert timedelta(hours=1).total_seconds() == HOUR_S
    assert timedelta(days=1).total_seconds() == DAY_S
    assert BINS * HOUR_S == DAY_S


def test_durations_are_floats_so_that_compiled_code_and_plain_code_divide_alike():
    assert np.asarray([HOUR_S, DAY_S]).dtype == np.float64
