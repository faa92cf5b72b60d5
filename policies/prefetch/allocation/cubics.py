"""Piecewise cubic tables of smooth functions, evaluated over large arrays in chunks that fit the processor cache.

Numpy operations on large arrays are bound by memory bandwidth, so passes over millions of objects run chunk by chunk,
in reused buffers that stay in the cache of one core.
"""

from collections.abc import Callable, Iterator

import numpy as np

from bestbefore.policies.units import FloatArray

CHUNK = 16384
"""The number of objects in a chunk: the five buffers of a pass take 640 KiB."""


def chunks(n: int) -> Iterator[slice]:
    """Consecutive slices of at most `CHUNK` that cover range(n)."""
    return (slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK))


class Scratch:
    """The working arrays of one caller, `CHUNK` long: those of a table look-up, and two (`first`, `second`) to use."""

    __slots__ = ("cell", "first", "flag", "position", "second", "term")

    def __init__(self) -> None:
        self.cell = np.empty(CHUNK, np.intp)
        self.position = np.empty(CHUNK)
        self.term = np.empty(CHUNK)
        self.flag = np.empty(CHUNK, np.bool_)
        self.first = np.empty(CHUNK)
        self.second = np.empty(CHUNK)


class Cubics:
    """A function on [low, high], interpolated by cubics through the Chebyshev points of `cells` equal cells.

    `function` is applied to arrays; the error decreases with the fourth power of the number of cells.
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
        """Write the function at x into `out`, distinct arrays (n,), n <= CHUNK. Outside [low, high] x is clipped."""
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
