from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.report.frontier import on_frontier


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_a_point_is_on_the_frontier_if_none_is_better(points: list[tuple[int, int]]) -> None:
    expected = [not any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
                for point in points]
    assert on_frontier(points) == expected
