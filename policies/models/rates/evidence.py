"""The evidence on an object's rate of change from contacts with the origin, and the estimate made from it.

The model is a Poisson process of updates at a rate lambda. There are three kinds of observation; each contributes one
factor to the likelihood, so that kinds can be mixed:

(a) complete: n updates in h hours, lambda^n exp(-lambda h);
(b) a contact that shows when the latest update was, e.g. by a Last-Modified: the process is known back from the contact
    to that update, a hours ago, lambda exp(-lambda a), or unchanged over the interval of L hours, exp(-lambda L);
(c) a contact that shows only that the object changed since the contact before: 1 - exp(-lambda L).

The sufficient statistics are n, the hours of complete observation, and the lengths of the intervals of kind (c).

Source of the three kinds: Cho, Garcia-Molina, "Estimating frequency of change" (ACM TOIT 3, 2003); the common
likelihood is ours.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from bestbefore.policies.units import FloatArray


def _no_intervals() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The evidence on one object's rate: its sufficient statistics."""

    updates: int = 0
    """n: the number of updates whose time is known."""
    open_h: float = 0.0
    """The hours of complete observation, in which every update is counted in `updates`; above 0 if there are any."""
    changed_h: FloatArray = field(default_factory=_no_intervals)
    """(m,) hours, above 0: the lengths of intervals with at least one update, at unknown times."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.open_h) and self.open_h >= 0.0):
            raise ValueError(f"open_h is {self.open_h}, expected hours of 0 or more")
        if self.updates < 0 or (self.updates and not self.open_h):
            raise ValueError(f"{self.updates} updates cannot be seen in {self.open_h} hours")
        if not (np.isfinite(self.changed_h).all() and (self.changed_h > 0.0).all()):
            raise ValueError("changed_h holds an interval that is not above 0 hours")

    @property
    def changes(self) -> int:
        """The number of contacts that found a change; in a complete history, the number of updates."""
        return self.updates + self.changed_h.size

    @property
    def is_empty(self) -> bool:
        """Whether no time was observed."""
        return not self.open_h and not self.changed_h.size


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated rate of change with its confidence interval."""

    rate_per_hour: float
    """0 or more; infinite where every contact found a change, so that no high rate can be excluded."""
    low_per_hour: float
    high_per_hour: float
