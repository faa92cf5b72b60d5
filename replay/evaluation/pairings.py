"""Other pairings of the updates and requests of a trace, since one curve of a policy is one sample."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.evaluation.case import Case

WEEK_S = 7 * DAY_S
LEAST_UPDATES = 10
"""The fewest updates of a source in a window of it."""
MOST_DRAWS = 1000
"""How many windows of the sources of a group are tried before it is given up."""


def permuted(case: Case, name: str, seed: int) -> Case:
    """Return the case with the histories of the requested objects exchanged at random.

    All events keep their times.
    """
    times_s = case.updates.times_by_object()
    objects = sorted(case.requests.requested())
    others = np.random.default_rng(seed).permutation(len(objects)).tolist()
    nothing = np.empty(0)
    return case.with_updates(
        name, {object_: times_s.get(objects[i], nothing) for object_, i in zip(objects, others, strict=True)}
    )


@dataclass(frozen=True, slots=True)
class Sources:
    """Histories by group, from which windows are drawn."""

    groups: Mapping[str, Sequence[FloatArray]]
    """The updates of the objects of each group, in a fixed order."""

    def window(self, group: str, start_s: float, length_s: float, random: np.random.Generator) -> FloatArray | None:
        """Draw a window of an object of a group, moved by whole weeks to `start_s`; None if none was found that suits.

        A window suits with at least `LEAST_UPDATES` updates. Hours of the day and days of the week are kept.
        """
        sources = self.groups.get(group, ())
        for _ in range(MOST_DRAWS if sources else 0):
            times_s = sources[int(random.integers(len(sources)))]
            middle_s = float(times_s[int(random.integers(len(times_s)))])
            weeks = np.floor((middle_s - start_s - length_s * random.random()) / WEEK_S)
            moved_s = times_s - weeks * WEEK_S
            found: FloatArray = moved_s[(moved_s >= start_s) & (moved_s < start_s + length_s)]
            if len(found) >= LEAST_UPDATES:
                return found
        return None

    def paired(self, case: Case, groups: Sequence[str], length_s: float, name: str, seed: int) -> Case:
        """Return the case with new updates for each requested object, of groups drawn with their frequency in `groups`.

        Raises ValueError if no group has a window that suits.
        """
        random = np.random.default_rng(seed)
        objects = sorted(case.requests.requested())
        drawn = self._drawn(groups, case.origin_s, length_s, random)
        return case.with_updates(name, dict(zip(objects, drawn, strict=False)))

    def _drawn(
        self, groups: Sequence[str], start_s: float, length_s: float, random: np.random.Generator
    ) -> Iterator[FloatArray]:
        left = [group for group in groups if group in self.groups]
        while left:
            group = left[int(random.integers(len(left)))]
            found = self.window(group, start_s, length_s, random)
            if found is None:
                left = [other for other in left if other != group]
            else:
                yield found
        raise ValueError(f"no source has {LEAST_UPDATES} updates in {length_s / DAY_S:g} days")
