import numpy as np

from bestbefore.policies.prefetch.allocation.histogram import Bins, Histogram, merged


def shown(bins: Bins) -> tuple[list[int], list[float], list[float], float]:
    return bins.numbers.tolist(), bins.rates.tolist(), bins.keys.tolist(), bins.least_key


def test_bins_hold_the_sum_of_rates_and_the_mean_of_keys() -> None:
    histogram = Histogram()
    histogram.add(np.array([5, 7, 5]), np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    assert shown(histogram.filled()) == ([5, 7], [4.0, 2.0], [25.0, 20.0], 10.0)


def test_it_grows_to_both_sides_and_so_do_those_of_several_parts() -> None:
    histogram, parts = Histogram(), []
    for number in (4, -3, 4, 9):
        one = Histogram()
        for each in (histogram, one):
            each.add(np.array([number]), np.array([1.0]), np.array([float(number)]))
        parts.append(one.filled())
    expected = ([-3, 4, 9], [1.0, 2.0, 1.0], [-3.0, 4.0, 9.0], -3.0)
    assert shown(histogram.filled()) == expected
    assert shown(merged([Histogram().filled(), *parts])) == expected
    assert merged(parts[:1]) is parts[0]


def test_nothing_put_in_is_nothing_found() -> None:
    assert shown(Histogram().filled()) == shown(merged([])) == ([], [], [], float("inf"))
