"""Many policies over one trace: each is counted once, over several processes, and again only if it was not finished."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.sweeps.cores import evaluating
from bestbefore.replay.sweeps.finished import Finished, Rows
from bestbefore.replay.sweeps.grid import Point


@dataclass(frozen=True, slots=True)
class Result:
    """A policy, and what was counted for it."""

    point: Point
    counts: Mapping[str, float]
    """By the names and in the order in which it is reported."""


@contextmanager
def sweeping(
    points: Sequence[Point], count: Callable[[Policy], Rows], jobs: int, finished: Finished | None = None
) -> Iterator[Iterator[tuple[int, Rows]]]:
    """While the context lasts, the place of each point and what was counted for it, as they become ready.

    Those that are finished come first; each further one is added to `finished` before it is handed over. Processes
    and errors are those of `cores.evaluating`.
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

    with evaluating(count, [points[place].policy for place in places], jobs) as counted:
        yield results(counted)
