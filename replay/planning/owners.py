"""The owners of objects, which are to get at most a number of contacts together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.simulate.complete import Grouping


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The owners of n objects."""

    numbers: NDArray[np.intp]
    """(n,) the owner of each object, from 0."""
    most: float
    """The most contacts per period with the objects of one owner, > 0."""


class OwnerNumbers:
    """The numbers of owners, in the order in which they occur: the registrable domains, as in the live proxy."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, names: Iterable[str]) -> list[int]:
        """Return the number of the owner of each of these objects."""
        numbers = self._numbers
        return [numbers.setdefault(Grouping.DOMAIN.group_of(name), len(numbers)) for name in names]

    @property
    def names(self) -> list[str]:
        """The owners by number."""
        return list(self._numbers)


def owners_of(ids: Ids, most: float) -> Owners:
    """Return the owners of objects, who may get at most `most` contacts per period each."""
    owners, numbers = OwnerNumbers(), np.empty(len(ids), dtype=np.intp)
    for rows, names in ids.parts():
        numbers[rows] = owners.of(names)
    return Owners(numbers, most)
