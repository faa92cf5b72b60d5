"""Many policies over one trace: each is counted once, over several processes, and again only if it was not finished."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bestbefore.policies.validation.policy import Policy
from bestbefore.replay.cores import evaluating
from bestbefore.replay.finished import Finished
from bestbefore.replay.grid import Point

Counts = Mapping[str, float]
"""What is counted for a policy, by the names and in the order in which it is reported."""


@dataclass(frozen=True, slots=True)
class Result:
    """A policy, and what was counted for it."""

    point: Point
    counts: Counts


@contextmanager
def sweeping(
    points: Sequence[Point], count: Callable[[Policy], Counts], jobs: int, finished: Finished | None = None
) -> Iterator[Iterator[tuple[int, Result]]]:
    """While the context lasts, the place of each point and its result, as they become ready.

    Those that are finished come first; each further one is added to `finished` before it is handed over. Processes
    and errors are those of `cores.evaluating`.
    """
    recalled = [None if finished is None else finished.get(point.policy) for point in points]
    known = {place: counts for place, counts in enumerate(recalled) if counts is not None}
    places = [i for i in range(len(points)) if i not in known]

    def results(counted: Iterator[tuple[int, Counts]]) -> Iterator[tuple[int, Result]]:
        for place, counts in known.items():
            yield place, Result(points[place], counts)
        for number, counts in counted:
            point = points[places[number]]
            if finished is not None:
                finished.add(point.policy, counts)
            yield places[number], Result(point, counts)

    with evaluating(count, [points[place].policy for place in places], jobs) as counted:
        yield results(counted)
