"""The placement of labels in a chart."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, hypot

WIDTH = 0.6
"""The mean width of a letter, in heights of the font."""
STEP = 6.0
"""The largest distance between the points that represent a line."""


class Labels:
    """Places labels beside points, so that none overlaps another or a point, or is outside the chart."""

    def __init__(self, left: float, top: float, right: float, bottom: float, font: float) -> None:
        self._inside = (left, top, right, bottom)
        self._font = font
        self._taken: list[tuple[float, float, float, float]] = []

    def block(self, x: float, y: float) -> None:
        """Reserve a point, which no label may overlap."""
        self._taken.append((x - 4, y - 4, x + 4, y + 4))

    def block_line(self, points: Sequence[tuple[float, float]]) -> None:
        """Reserve points and the line through them, which no label may overlap."""
        for x, y in points:
            self.block(x, y)
        for (x, y), (next_x, next_y) in pairwise(points):
            steps = ceil(hypot(next_x - x, next_y - y) / STEP)
            for i in range(1, steps):
                self.block(x + (next_x - x) * i / steps, y + (next_y - y) * i / steps)

    def place(self, x: float, y: float, text: str) -> tuple[float, float] | None:
        """Return the position of a point's label (left end, baseline); None if there is no room."""
        width, height, gap = WIDTH * self._font * len(text), self._font, 0.6 * self._font
        for left, base in (
            (x + gap, y - gap),
            (x + gap, y + gap + 0.7 * height),
            (x - gap - width, y - gap),
            (x - gap - width, y + gap + 0.7 * height),
            (x - width / 2, y - 1.4 * gap),
            (x - width / 2, y + 1.4 * gap + 0.7 * height),
        ):
            box = (left, base - 0.8 * height, left + width, base + 0.2 * height)
            if self._is_inside(box) and not any(_overlap(box, taken) for taken in self._taken):
                self._taken.append(box)
                return left, base
        return None

    def _is_inside(self, box: tuple[float, float, float, float]) -> bool:
        left, top, right, bottom = self._inside
        return left <= box[0] and top <= box[1] and box[2] <= right and box[3] <= bottom


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
