"""The Pareto frontier of points, with smaller values better in both coordinates."""

from collections.abc import Sequence


def on_frontier(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return for each point whether it is on the frontier: no other is as small in both coordinates and smaller in one.

    >>> on_frontier([(1, 9), (2, 5), (3, 5), (4, 4), (2, 5)])
    [True, True, False, True, True]
    """
    frontier: set[tuple[float, float]] = set()
    least = float("inf")
    for point in sorted(points):
        if point[1] < least:
            frontier.add(point)
            least = point[1]
    return [point in frontier for point in points]
