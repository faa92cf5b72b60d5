"""The names of millions of objects, joined into long strings to save the memory of a Python string for each."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.traces.skipped import shortened

BETWEEN = "\0"
"""The separator of names, which no name contains."""
PART = 1 << 16
"""The number of names joined into one string."""


class Ids:
    """Names by row, from 0. Iteration by `parts` is fast; access to a single name splits a whole part."""

    def __init__(self, parts: Sequence[str], sizes: Sequence[int]) -> None:
        """Take parts, each of as many names as `sizes` says, joined by `BETWEEN`."""
        self._parts = parts
        self._ends = np.cumsum(sizes, dtype=np.int64).tolist()

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Make ids from names. Raises ValueError if one contains `BETWEEN`."""
        given = list(names)
        if (wrong := next((name for name in given if BETWEEN in name), None)) is not None:
            raise ValueError(f"object {shortened(wrong)!r}: expected a name without NUL")
        cuts = range(0, len(given), PART)
        return cls(
            [BETWEEN.join(given[start : start + PART]) for start in cuts],
            [min(PART, len(given) - start) for start in cuts],
        )

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends else 0

    def __getitem__(self, row: int) -> str:
        part = bisect_right(self._ends, row)
        start = self._ends[part - 1] if part else 0
        return self._parts[part].split(BETWEEN)[row - start]

    @property
    def number_of_parts(self) -> int:
        return len(self._parts)

    def parts(self) -> Iterator[tuple[slice, list[str]]]:
        """Yield slices of consecutive rows and their names, some ten thousand at a time."""
        start = 0
        for part, end in zip(self._parts, self._ends, strict=True):
            yield slice(start, end), part.split(BETWEEN)
            start = end

    def first_repeated(self) -> tuple[int, int] | None:
        """Return (earlier row, row) for the first row that repeats a name; None if each name occurs once."""
        hashes = np.empty(len(self), np.int64)
        for rows, names in self.parts():
            hashes[rows] = np.fromiter(map(hash, names), np.int64, len(names))
        ordered = np.sort(hashes)
        shared = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
        del ordered
        if not shared:
            return None
        return self._repeated_among(np.flatnonzero(np.isin(hashes, list(shared))))

    def _repeated_among(self, rows: NDArray[np.intp]) -> tuple[int, int] | None:
        earlier: dict[str, int] = {}
        for part, names in self.parts():
            first, last = np.searchsorted(rows, (part.start, part.stop)).tolist()
            for row in rows[first:last].tolist():
                name = names[row - part.start]
                if name in earlier:
                    return earlier[name], row
                earlier[name] = row
        return None
