"""The pace of a schedule: what the contacts that became due cost, against what its price was expected to bring."""

from collections import deque

from bestbefore.policies.units import HOUR_S

PARTS = 24
"""The parts of the period of a budget. At the end of each the price is set again."""


class Pace:
    """The contacts of the last period, by part."""

    def __init__(self, period_s: float, now_s: float) -> None:
        self.part_s = period_s / PARTS
        self.part_from_s = now_s
        self._due = 0.0
        self.is_idle = False
        """Whether no contact is possible now."""
        self._parts: deque[tuple[float, float]] = deque(maxlen=PARTS)
        """Of each part the cost of the contacts that became due, and that expected."""

    def count(self, cost: float) -> None:
        """Count a contact that became due."""
        self._due += cost
        self.is_idle = False

    def is_over(self, now_s: float) -> bool:
        """Whether the present part of the period is over."""
        return not self.part_from_s <= now_s < self.part_from_s + self.part_s

    def next_part(self, now_s: float, expected_per_hour: float) -> None:
        """Begin another part; `expected_per_hour` is what the price of the part that ends was to bring."""
        passed_s = now_s - self.part_from_s
        if 0.0 < passed_s < PARTS * self.part_s:
            self._parts.append((self._due, expected_per_hour * passed_s / HOUR_S))
        else:  # the clock was set, or `take` was not called: what became due says nothing
            self._parts.clear()
        self._due, self.part_from_s, self.is_idle = 0.0, now_s, False

    def idle(self, now_s: float) -> None:
        """Leave out of account what passes from the end of the last part until the next contact."""
        self.is_idle, self.part_from_s = True, now_s

    def ratio(self, per_hour: float) -> float:
        """What became due over what was expected. Of parts not yet observed both count as the budget."""
        unseen = (PARTS - len(self._parts)) * self.part_s / HOUR_S * per_hour
        due = sum(due for due, _ in self._parts) + unseen
        expected = sum(expected for _, expected in self._parts) + unseen
        return min(max((due + 1.0) / (expected + 1.0), 0.1), 10.0)
