"""The execution of a sweep over several processes; finished points are not replayed again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Rows
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.parallel import parallel_map


@dataclass(frozen=True, slots=True)
class Result:
    """A point of a sweep with its counts."""

    point: Point
    counts: Mapping[str, float]
    """The counts with the names and in the order of reports."""


@contextmanager
def sweeping(
    points: Sequence[Point], count: Callable[[Policy], Rows], jobs: int, finished: FinishedPoints | None = None
) -> Iterator[Iterator[tuple[int, Rows]]]:
    """Yield an iterator over (index of the point, its counts), in the order of completion.

    Points that are finished already come first; each further one is added to `finished` before it is yielded. For
    processes and errors see `parallel.parallel_map`.
    """
    recalled = [None if finished is None else finished.get(point.policy) for point in points]
    known = {place: rows for place, rows in enumerate(recalled) if rows is not None}
    places = [i for i in range(len(points)) if i not in known]

    def results(counted: Iterator[tuple[int, Rows]]) -> Iterator[tuple[int, Rows]]:
        yield from known.items()
        for number, rows in counted:
            if finished is not None:
                finished.add(points[places[number]].policy, rows)
            yield places[number], rows

    with parallel_map(count, [points[place].policy for place in places], jobs) as counted:
        yield results(counted)
