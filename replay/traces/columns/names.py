"""A column of names that is built row by row: each distinct name once, and an id for each row."""

from array import array

import numpy as np

from bestbefore.replay.traces.columns.columns import IdArray

NO_NAME = -1
"""The id of a row without a name."""


class NameColumn:
    """A growing column of names; ids are assigned in the order of first occurrence."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._rows = array("i")

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def append(self, name: str | None) -> None:
        """Append a row with this name, or without a name."""
        codes = self._codes
        self._rows.append(NO_NAME if name is None else codes.setdefault(name, len(codes)))

    @property
    def ids(self) -> IdArray:
        """The ids of the rows, not copied: the column cannot grow while the array is in use."""
        return np.asarray(self._rows, dtype=np.int32)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._codes)
