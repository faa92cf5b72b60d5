"""The mean of a quantity over several seeds, with its interval of confidence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class SeedMean:
    """A mean, and half the width of its 95 % interval."""

    mean: float
    half_width: float
    """Infinite with one value."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The mean and interval of independent values, at least one, by Student's law; infinite if one value is."""
        count = len(values)
        if count == 1 or not all(map(math.isfinite, values)):
            return cls(max(values), math.inf)
        quantile = float(stdtrit(count - 1, (1.0 + CONFIDENCE) / 2.0))
        return cls(float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / math.sqrt(count))

    def text(self, digits: int) -> str:
        """The mean with its interval; without it if one value was given.

        >>> SeedMean.of([0.5, 0.7]).text(2), SeedMean.of([0.5]).text(2)
        ('0.60 ± 1.27', '0.50')
        """
        if math.isinf(self.mean):
            return "–"
        interval = "" if math.isinf(self.half_width) else f" ± {self.half_width:.{digits}f}"
        return f"{self.mean:.{digits}f}{interval}"
