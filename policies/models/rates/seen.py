"""The evidence on an object's rate of change from contacts with the origin, and estimates of the rate.

The model is a Poisson process: updates come at a rate lambda, independent of each other. A poller sees them in one of
three ways, and each contributes one factor to the likelihood, which is why they can be mixed:

(a) completely: n updates in h hours, lambda^n exp(-lambda h);
(b) at a contact that shows when the latest update was: looking back from the contact, the process was seen until its
    first update, a hours ago, lambda exp(-lambda a), or unchanged over the whole interval of L hours, exp(-lambda L);
(c) at a contact that shows only that the object changed since the last one: 1 - exp(-lambda L).

So all that has to be kept is n, the hours in which no update was hidden, and the lengths of the intervals of (c).

Source of the three ways: Cho, Garcia-Molina, "Estimating frequency of change" (ACM TOIT 3, 2003); the common
likelihood is ours.
"""

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import HOUR_S, FloatArray

LEAST_QUIET_S = 0.5
"""Half of what a Last-Modified can resolve: an update "now" may be this long ago."""


def _no_intervals() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The evidence on one object: the sufficient statistics of its rate."""

    updates: int = 0
    """n: updates whose time is known."""
    open_h: float = 0.0
    """The hours in which every update would have been among those `updates`; 0 or more, above 0 if there are any."""
    changed_h: FloatArray = field(default_factory=_no_intervals)
    """(m,) hours, above 0: the intervals of which only is known that there was at least one update."""
    contact_h: float = 0.0
    """The mean length of the intervals between contacts; 0 for a complete history, which has none."""

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
        """Make the evidence of contacts at any distances, each with whether it found a change.

        All are (n,): the time since the contact before, above 0; whether the object had changed since then; and how
        long before the contact the latest update was, NaN where that is not known. It counts only where the object
        changed, and must lie in the interval; other updates of that interval stay unseen.
        """
        changed = np.asarray(changed, dtype=np.bool_)
        lengths_h, quiet_h = _checked(lengths_s, changed, since_update_s)
        dated = changed & ~np.isnan(quiet_h)
        open_h = float(lengths_h[~changed].sum() + quiet_h[dated].sum())
        mean_h = float(lengths_h.mean()) if lengths_h.size else 0.0
        return cls(int(dated.sum()), open_h, lengths_h[changed & ~dated], mean_h)

    @property
    def changes(self) -> int:
        """How often the object was found changed; in a complete history, its updates."""
        return self.updates + self.changed_h.size

    @property
    def nothing(self) -> bool:
        """Whether no time at all was observed."""
        return not self.open_h and not self.changed_h.size


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate of change with an interval that holds the true one with the confidence asked for."""

    rate_per_hour: float
    """0 or more; infinite where every contact found a change, and nothing speaks against any high rate."""
    low_per_hour: float
    high_per_hour: float


def _checked(
    lengths_s: FloatArray, changed: NDArray[np.bool_], since_update_s: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """The lengths, and the times since the latest updates, in hours."""
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
