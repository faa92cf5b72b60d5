"""The axes of a chart: the mapping from values to pixels, and the values of ticks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LOGARITHMIC_FROM = 10.0
"""The ratio of the largest to the least value from which on an axis is logarithmic."""
MARGIN = 0.06
"""The share of an axis left free at an open end."""
ZERO = 0.07
"""The share of a logarithmic axis reserved for 0, if 0 occurs."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from values to pixels, linear from 0 or logarithmic.

    On a logarithmic one 0 has a place of its own at the beginning, if it occurs; it is not to scale.
    """

    start_px: float
    end_px: float
    low: float
    """The value at the start of the scale; on a logarithmic axis with 0, after the place of 0."""
    high: float
    logarithmic: bool
    has_zero: bool

    @classmethod
    def of(cls, values: Iterable[float], start_px: float, end_px: float) -> "Axis":
        """Create an axis for all these values, which are 0 or more."""
        given = list(values)
        positive = [value for value in given if value > 0.0]
        least, largest = min(positive, default=1.0), max(positive, default=1.0)
        if largest < LOGARITHMIC_FROM * least:
            return cls(start_px, end_px, 0.0, largest * (1.0 + MARGIN), logarithmic=False, has_zero=True)
        margin = (largest / least) ** MARGIN
        return cls(start_px, end_px, least / margin, largest * margin, logarithmic=True, has_zero=0.0 in given)

    def at(self, value: float) -> float:
        """Return the pixel of a value on the axis."""
        length = self.end_px - self.start_px
        if not self.logarithmic:
            return self.start_px + length * (value - self.low) / (self.high - self.low)
        before = ZERO if self.has_zero else 0.0
        if value <= 0.0:
            return self.start_px + length * before / 3
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start_px + length * (before + (1.0 - before) * share)

    @property
    def break_px(self) -> float | None:
        """The position at which the place of 0 ends and the scale begins, if there is such a break."""
        if not (self.logarithmic and self.has_zero):
            return None
        return self.start_px + (self.end_px - self.start_px) * ZERO * 2 / 3

    def ticks(self, most: int, unit: float = 1.0) -> list[float]:
        """Return at most this many values (and 0, if it has a place) that are round numbers of the unit."""
        round_ones = _round_ratios if self.logarithmic else _round_steps
        ticks = [value * unit for value in round_ones(self.low / unit, self.high / unit, most)]
        return [0.0, *ticks] if self.has_zero else ticks


def _round_steps(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in (low, high], without 0."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 5, 10)):
        first, last = math.floor(low / step) + 1, math.floor(high / step)
        if last - first < most:
            break
    return [step * i for i in range(first, last + 1)]


def _round_ratios(low: float, high: float, most: int) -> list[float]:
    """1, 2 and 5 times powers of ten in [low, high], or as many of them as there may be."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = _inside(low, high, exponents, factors)
        if len(ticks) <= most:
            return ticks
    step = math.ceil(len(ticks) / most)
    return ticks[::step]


def _inside(low: float, high: float, exponents: Iterable[int], factors: Sequence[int]) -> list[float]:
    values = (factor * 10.0**exponent for exponent in exponents for factor in factors)
    return [value for value in values if low <= value <= high]


def number_shown(value: float) -> str:
    """Format a value for a tick.

    >>> [number_shown(value) for value in (0, 0.05, 750, 20000, 3e6)]
    ['0', '0.05', '750', '20,000', '3M']
    """
    return f"{value / 1e6:,g}M" if value >= 1e6 else f"{value:,.6g}"
