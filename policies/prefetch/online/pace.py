"""The pace of a schedule: what the contacts that became due cost, against its budget."""

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import HOUR_S, FloatArray

PARTS = 24
"""The parts of the period of a budget. At the end of each the price is set again."""
MOST_OFF = 2.0
"""What counts at most of a period that cost more than its budget, as a multiple of that: as after a pause."""
MOST = 10.0


class Pace:
    """The costs of the last period, by part, and the correction of the budget that follows from them.

    The price is solved for constant rates. Where hours and bursts bring more contacts than that, it must be solved for
    a smaller budget: that over the correction. It changes by what a period is off in as many periods as there are
    between two contacts with an object: a lower price brings many objects forward at once, and fewer afterwards.
    """

    def __init__(self, period_s: float, now_s: float) -> None:
        self.correction = 1.0
        self.part_s = period_s / PARTS
        self._from_s = now_s
        self._due = 0.0
        self._is_first = True
        self._parts: deque[tuple[float, float]] = deque(maxlen=PARTS)
        """The cost of the contacts that became due in each part, and its length."""

    def count(self, cost: float) -> None:
        """Count a contact that became due."""
        self._due += cost

    def budget_changed(self) -> None:
        """Keep the correction; what became due under another budget does not count."""
        self._is_first = True

    def has_begun(self, at_s: FloatArray) -> NDArray[np.bool_]:
        """(n,) whether the present part of the period had begun by these times."""
        return at_s >= self._from_s

    def is_over(self, now_s: float) -> bool:
        """Whether the present part of the period is over."""
        return not self._from_s <= now_s < self._from_s + self.part_s

    def next_part(self, now_s: float, per_hour: float, interval_s: float) -> None:
        """Begin another part; `per_hour` is the budget, and `interval_s` the mean time between contacts."""
        passed_s = now_s - self._from_s
        if self._is_first or not 0.0 < passed_s < PARTS * self.part_s:
            # what was due long ago, or the clock was set: what became due says nothing
            self._is_first = False
            self._parts.clear()
        else:
            self._parts.append((self._due, passed_s))
            surplus = sum(due - per_hour * part_s / HOUR_S for due, part_s in self._parts)
            off = min(surplus / (per_hour * PARTS * self.part_s / HOUR_S), MOST_OFF)
            gain = self.part_s / max(interval_s, PARTS * self.part_s)
            # by the surplus itself, so that it settles where costly and cheap periods keep the budget together
            self.correction = min(max(self.correction * math.exp(gain * off), 1.0 / MOST), MOST)
        self._due, self._from_s = 0.0, now_s
