"""What a schedule knows of an object, and the columns that hold it for all of them."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from bestbefore.policies.models.clockwork.beats import Clockwork
from bestbefore.policies.prefetch.online.week import SHARES
from bestbefore.policies.units import BINS, IntArray

SHORTEST_S = 300.0
"""The least time between two contacts with an object, whatever the price."""
FLAT = b"\x0a" * BINS
"""The hours of an object without a pattern."""


@dataclass(frozen=True, slots=True)
class ScheduleEstimate:
    """An object as of its last contact."""

    rate_per_hour: float
    """The updates expected after that contact."""
    contact_s: float
    """Unix seconds."""
    weight: float = 1.0
    hours: bytes = FLAT
    """24 bytes, the rates of the UTC hours relative to each other, as `week.bytes_of` makes them."""
    weekend_share: float = 2.0 / 7.0
    """The share of updates on Saturdays and Sundays."""
    shortest_s: float = SHORTEST_S
    """The least time between two contacts."""
    longest_s: float = math.inf
    """The longest; it holds for objects without rate or weight too."""
    cost: float = 1.0
    """What a contact costs, in the unit of the budget."""
    theta: float = 0.0
    """If above 0, a contact is due when so many updates are expected since the last one, whatever the price."""
    clockwork: Clockwork | None = None
    """The beats at which the object changes, if it has any."""


class Columns:
    """The estimates of objects 0 to n-1, 55 bytes each; an object that was never put has weight 0 and is not live."""

    def __init__(self) -> None:
        self.live = np.zeros(0, dtype=np.bool_)
        self.rates = np.zeros(0, dtype=np.float32)
        """Updates per hour."""
        self.weights = np.zeros(0, dtype=np.float32)
        self.contact_s = np.zeros(0)
        self.hours = np.zeros((0, BINS), dtype=np.uint8)
        self.weekends = np.zeros(0, dtype=np.uint8)
        """In 1/255."""
        self.shortest_s = np.zeros(0, dtype=np.float32)
        self.longest_s = np.zeros(0, dtype=np.float32)
        self.costs = np.zeros(0, dtype=np.float32)
        self.thetas = np.zeros(0, dtype=np.float32)
        self.clockworks: dict[int, Clockwork] = {}
        """Of the few objects that have one."""

    NAMES: Final = (
        "rates", "weights", "contact_s", "hours", "weekends", "shortest_s", "longest_s", "costs", "thetas", "live",
    )  # fmt: skip
    """The last one tells how many there are, so a thread that reads meanwhile finds as many in all others."""

    def __len__(self) -> int:
        return len(self.live)

    def reserve(self, n: int) -> None:
        """Make room for the objects 0 to n-1."""
        if n > len(self):
            more = max(n, len(self) * 9 // 8) - len(self)
            for name in self.NAMES:
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros((more, *column.shape[1:]), column.dtype))))

    def set(self, slot: int, estimate: ScheduleEstimate) -> None:
        """Write the estimate of an object; there must be room."""
        self.rates[slot] = estimate.rate_per_hour
        self.weights[slot] = estimate.weight
        self.contact_s[slot] = estimate.contact_s
        self.hours[slot] = np.frombuffer(estimate.hours, np.uint8)
        self.weekends[slot] = round(SHARES * estimate.weekend_share)
        self.shortest_s[slot] = estimate.shortest_s
        self.longest_s[slot] = estimate.longest_s
        self.costs[slot] = estimate.cost
        self.thetas[slot] = estimate.theta
        if estimate.clockwork is None:
            self.clockworks.pop(slot, None)
        else:
            self.clockworks[slot] = estimate.clockwork
        self.live[slot] = True

    def all_live(self) -> IntArray:
        """The numbers of all objects."""
        return np.flatnonzero(self.live)
