"""What a schedule knows of an object, and the columns that hold it for all of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.clockwork.beats import Clockwork
from bestbefore.policies.prefetch.online.week import SHARES
from bestbefore.policies.units import BINS, FloatArray, IntArray

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


class Estimates(NamedTuple):
    """Estimates of n different objects, in arrays (n,) of the fields of `ScheduleEstimate`."""

    rates: FloatArray
    weights: FloatArray
    contact_s: FloatArray
    hours: NDArray[np.uint8]
    """(n, 24)"""
    weekend_shares: FloatArray
    shortest_s: FloatArray
    longest_s: FloatArray
    costs: FloatArray
    thetas: FloatArray
    clockworks: dict[int, Clockwork]
    """By place in the arrays."""

    @classmethod
    def of(cls, estimates: Sequence[ScheduleEstimate]) -> "Estimates":
        """Put single estimates into arrays."""

        def column(name: str) -> FloatArray:
            return np.fromiter((getattr(one, name) for one in estimates), np.float64, len(estimates))

        return cls(
            column("rate_per_hour"), column("weight"), column("contact_s"),
            np.frombuffer(b"".join(one.hours for one in estimates), np.uint8).reshape(-1, BINS),
            column("weekend_share"), column("shortest_s"), column("longest_s"), column("cost"), column("theta"),
            {i: one.clockwork for i, one in enumerate(estimates) if one.clockwork is not None},
        )  # fmt: skip


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

    def set(self, slots: IntArray, estimates: Estimates) -> None:
        """Write the estimates of different objects; there must be room."""
        self.rates[slots] = estimates.rates
        self.weights[slots] = estimates.weights
        self.contact_s[slots] = estimates.contact_s
        self.hours[slots] = estimates.hours
        self.weekends[slots] = np.round(SHARES * estimates.weekend_shares)
        self.shortest_s[slots] = estimates.shortest_s
        self.longest_s[slots] = estimates.longest_s
        self.costs[slots] = estimates.costs
        self.thetas[slots] = estimates.thetas
        if self.clockworks:
            for slot in slots.tolist():
                self.clockworks.pop(slot, None)
        self.clockworks.update((int(slots[i]), clockwork) for i, clockwork in estimates.clockworks.items())
        self.live[slots] = True
