import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, xlogy

from bestbefore.policies.models.segmentation import merge, set_segments

few = settings(max_examples=60, derandomize=True, deadline=None)
bins = st.lists(st.tuples(st.integers(0, 30), st.floats(0.25, 30.0)), min_size=1, max_size=8)


def optimal_segments(counts: list[int], hours: list[float], penalty: float) -> list[int]:
    room = len(counts) + 1
    firsts = [0] * room
    return firsts[: set_segments(firsts, [0] * room, [0.0] * room, counts, hours, penalty) + 1]


def log_probability(counts: list[int], hours: list[float]) -> float:
    """That of these counts if the rate is the same in all bins, and the most probable one."""
    rate = sum(counts) / sum(hours)
    means = rate * np.array(hours)
    return float((xlogy(counts, means) - means - gammaln(np.array(counts) + 1)).sum())


@given(bins, st.floats(0.0, 10.0))
@few
def test_no_way_to_cut_the_day_is_better(observed: list[tuple[int, float]], penalty: float) -> None:
    counts, hours = [n for n, _ in observed], [h for _, h in observed]
    bounds = range(len(counts) + 1)
    worth = {(a, b): log_probability(counts[a:b], hours[a:b]) - penalty for a, b in combinations(bounds, 2)}
    best = max(
        sum(worth[segment] for segment in pairwise((0, *cuts, len(counts))))
        for n in range(len(counts))
        for cuts in combinations(bounds[1:-1], n)
    )
    found = optimal_segments(counts, hours, penalty)
    assert found[0] == 0
    assert found[-1] == len(counts)
    assert sum(worth[segment] for segment in pairwise(found)) == pytest.approx(best)


def test_a_busy_morning_is_a_segment_of_its_own() -> None:
    # 1, 1, 9, 9, 1, 1 updates in an hour each. Cut at both changes: 18 ln 9. Not cut: 22 ln(22/6) = 28.6, so that the
    # two further segments gain 10.9 together.
    counts, hours = [1, 1, 9, 9, 1, 1], [1.0] * 6
    gain = 18 * math.log(9) - 22 * math.log(22 / 6)
    assert optimal_segments(counts, hours, gain / 2 - 0.01) == [0, 2, 4, 6]
    assert optimal_segments(counts, hours, gain / 2 + 0.01) == [0, 6]


def test_without_a_penalty_only_equal_rates_are_joined() -> None:
    assert optimal_segments([2, 4, 5], [1.0, 2.0, 1.0], 0.0) == [0, 2, 3]


def test_a_bin_without_updates_is_cut_off_where_that_is_worth_it() -> None:
    assert optimal_segments([0, 0, 8, 8], [1.0] * 4, 1.0) == [0, 2, 4]


def test_bins_without_updates_or_hours_do_no_harm() -> None:
    assert optimal_segments([0, 0], [1.0, 1.0], 0.5) == [0, 2]
    assert optimal_segments([0, 3], [0.0, 0.0], 1.0) == [0, 2]
    assert optimal_segments([], [], 1.0) == [0]


def test_bins_are_summed_by_segment() -> None:
    values = [1, 2, 3, 4]
    merge(values, [0, 1, 4], 2)
    assert values[:2] == [1, 9]
