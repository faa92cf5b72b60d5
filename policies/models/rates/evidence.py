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
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import HOUR_S, FloatArray

LEAST_QUIET_S = 0.5
"""Half the resolution of a Last-Modified: the least time since an update that a contact can show."""


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
    contact_h: float = 0.0
    """The mean length of the intervals between contacts, hours; 0 for a complete history, which has none."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.open_h) and self.open_h >= 0.0):
            raise ValueError(f"open_h is {self.open_h}, expected hours of 0 or more")
        if self.updates < 0 or (self.updates and not self.open_h):
            raise ValueError(f"{self.updates} updates cannot be seen in {self.open_h} hours")
        if not (np.isfinite(self.changed_h).all() and (self.changed_h > 0.0).all()):
            raise ValueError("changed_h holds an interval that is not above 0 hours")

    @classmethod
    def at_contacts(
        cls, lengths_s: FloatArray, changed: NDArray[np.bool_], since_update_s: FloatArray | None = None
    ) -> Self:
        """Make the evidence of n contacts at any distances.

        All arrays are (n,): the time since the contact before, above 0; whether the object had changed since then; and
        the time from the latest update to the contact, NaN where unknown. The last is read only where the object
        changed, and must not exceed the interval; earlier updates of the interval remain unknown.
        """
        changed = np.asarray(changed, dtype=np.bool_)
        lengths_h, quiet_h = _checked(lengths_s, changed, since_update_s)
        dated = changed & ~np.isnan(quiet_h)
        open_h = float(lengths_h[~changed].sum() + quiet_h[dated].sum())
        mean_h = float(lengths_h.mean()) if lengths_h.size else 0.0
        return cls(int(dated.sum()), open_h, lengths_h[changed & ~dated], mean_h)

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


def _checked(
    lengths_s: FloatArray, changed: NDArray[np.bool_], since_update_s: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the lengths, and the times since the latest updates, in hours; ValueError for impossible ones."""
    lengths = np.asarray(lengths_s, dtype=np.float64)
    quiet = np.full(lengths.shape, np.nan) if since_update_s is None else np.asarray(since_update_s, dtype=np.float64)
    if lengths.ndim != 1 or not lengths.shape == changed.shape == quiet.shape:
        raise ValueError(f"{lengths.shape} lengths, {changed.shape} outcomes and {quiet.shape} latest updates")
    wrong = ~(np.isfinite(lengths) & (lengths > 0.0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"contact {i} came {lengths[i]} s after the one before, expected more than 0")
    wrong = changed & ((quiet < 0.0) | (quiet > lengths))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"contact {i} dates the latest update {quiet[i]} s ago, expected 0 to {lengths[i]}")
    return lengths / HOUR_S, np.minimum(np.maximum(quiet, LEAST_QUIET_S), lengths) / HOUR_S
