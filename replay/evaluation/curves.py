"""The curve of a policy in one scenario, and its values at given shares of stale hits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bestbefore.replay.report.interpolation import crossing


@dataclass(frozen=True, slots=True)
class Curve:
    """The stale hits and validations of a policy at each value of its parameter, as shares of cached requests."""

    points: Sequence[tuple[float, float]]
    """(stale hits, validations), in the order of the values."""

    def validations(self, stale: float) -> float | None:
        """Return the fewest validations with at most this share of stale hits; None if the policy does not reach it.

        Between two points they are interpolated linearly in logarithms.
        """
        return _least(self.points, stale)

    def stale(self, validations: float) -> float | None:
        """Return the fewest stale hits with at most this share of validations, in the same way."""
        return _least([(y, x) for x, y in self.points], validations)


def _least(points: Sequence[tuple[float, float]], most: float) -> float | None:
    below = [y for x, y in points if x <= most]
    between = crossing(points, most)
    return min([*below, *([] if between is None else [between])], default=None)


def ratio(ours: float | None, other: float | None) -> float | None:
    """Return ours as a multiple of the other; None if one of them is unknown, or the other is 0."""
    return None if ours is None or not other else ours / other


@dataclass(frozen=True, slots=True)
class Spread:
    """The geometric mean of ratios, with the smallest and the largest; not a number if none is known."""

    mean: float
    least: float
    most: float
    known: int
    """The number of ratios that are known."""
    of: int
    """The number of all."""

    @classmethod
    def among(cls, ratios: Sequence[float | None]) -> "Spread | None":
        """Return the spread of the ratios that are known and not 0; None without any ratio, known or not."""
        known = [one for one in ratios if one]
        if not known:
            return cls(math.nan, math.nan, math.nan, 0, len(ratios)) if ratios else None
        mean = math.exp(math.fsum(map(math.log, known)) / len(known))
        return cls(mean, min(known), max(known), len(known), len(ratios))
