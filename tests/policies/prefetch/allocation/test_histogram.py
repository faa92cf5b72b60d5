import numpy as np

from bestbefore.policies.prefetch.allocation.histogram import Histogram


def test_bins_hold_the_sum_of_rates_and_the_mean_of_keys() -> None:
    histogram = Histogram()
    histogram.add(np.array([5, 7, 5]), np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    numbers, rates, keys = histogram.filled()
    assert (numbers.tolist(), rates.tolist(), keys.tolist()) == ([5, 7], [4.0, 2.0], [25.0, 20.0])


def test_it_grows_to_both_sides() -> None:
    histogram = Histogram()
    for number in (4, -3, 4, 9):
        histogram.add(np.array([number]), np.array([1.0]), np.array([float(number)]))
    numbers, rates, keys = histogram.filled()
    assert (numbers.tolist(), rates.tolist(), keys.tolist()) == ([-3, 4, 9], [1.0, 2.0, 1.0], [-3.0, 4.0, 9.0])


def test_nothing_put_in_is_nothing_found() -> None:
    assert [len(part) for part in Histogram().filled()] == [0, 0, 0]
