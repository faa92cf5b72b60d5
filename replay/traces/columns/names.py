"""A column of names that is built row by row: each name once, and a number for each row."""

from array import array

import numpy as np

from bestbefore.replay.traces.columns.columns import IdArray

NO_NAME = -1
"""The number of a row that has no name."""


class NameColumn:
    """Names in the order in which they first occur."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._rows = array("i")

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def append(self, name: str | None) -> None:
        """A row with this name, or without one."""
        codes = self._codes
        self._rows.append(NO_NAME if name is None else codes.setdefault(name, len(codes)))

    @property
    def ids(self) -> IdArray:
        """The numbers of the rows; the column cannot grow while they are in use, for they are not copied."""
        return np.asarray(self._rows, dtype=np.int32)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._codes)
