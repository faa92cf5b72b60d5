"""A smooth function as a table of cubics on equal cells, evaluated over arrays in parts that fit the cache.

Numpy pays for each pass over memory, so whatever runs over millions of objects runs chunk by chunk, in buffers that
stay in the cache of one core and are used again.
"""

from collections.abc import Callable, Iterator

import numpy as np

from bestbefore.policies.units import FloatArray

CHUNK = 16384
"""Objects taken at once: the five buffers of a pass are 640 KiB."""


def chunks(n: int) -> Iterator[slice]:
    """Consecutive slices of at most `CHUNK` that cover range(n)."""
    return (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))


class Scratch:
    """The buffers of one caller, `CHUNK` long: what a table needs for a look-up, and two for the caller itself."""

    __slots__ = ("cell", "first", "flag", "position", "second", "term")

    def __init__(self) -> None:
        self.cell = np.empty(CHUNK, np.intp)
        self.position = np.empty(CHUNK)
        self.term = np.empty(CHUNK)
        self.flag = np.empty(CHUNK, np.bool_)
        self.first = np.empty(CHUNK)
        self.second = np.empty(CHUNK)


class Cubics:
    """The function on [low, high] as cubics through the Chebyshev points of `cells` equal cells.

    `function` takes and gives arrays; the error falls with the fourth power of the number of cells.
    """

    def __init__(self, function: Callable[[FloatArray], FloatArray], low: float, high: float, cells: int) -> None:
        nodes = 0.5 - 0.5 * np.cos((2 * np.arange(4) + 1) * np.pi / 8)
        width = (high - low) / cells
        values = function(low + (np.arange(cells)[:, None] + nodes) * width)
        self._coefficients = np.linalg.solve(np.vander(nodes, 4, increasing=True), values.T)
        self._per_unit = 1.0 / width
        self._start = low / width
        self._end = float(np.nextafter(cells, 0.0))

    def at(self, x: FloatArray, out: FloatArray, scratch: Scratch) -> None:
        """Write the function at x into `out`, both (n,), n <= CHUNK, distinct. Beyond an end, the value at that end."""
        n = len(x)
        cell, position, term = scratch.cell[:n], scratch.position[:n], scratch.term[:n]
        np.multiply(x, self._per_unit, out=position)
        np.subtract(position, self._start, out=position)
        np.clip(position, 0.0, self._end, out=position)
        np.copyto(cell, position, casting="unsafe")
        np.subtract(position, cell, out=position)
        constant, linear, square, cube = self._coefficients
        np.take(cube, cell, out=out, mode="clip")
        for coefficient in (square, linear, constant):
            np.multiply(out, position, out=out)
            np.take(coefficient, cell, out=term, mode="clip")
            np.add(out, term, out=out)
