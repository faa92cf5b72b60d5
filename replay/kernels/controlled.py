"""The control of a stale rate in arrays, as `controlled_prices` of the plain engine; compiled unchanged by `compiled`.

Both classes have the same methods. Compiled code selects them by class, so that a replay without a target costs nothing
for what one with a target needs.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.machinery.control import (
    PERIODS,
    SUMS,
    CopyControl,
    log_price,
    millionths,
    of_hits,
    of_validation,
    period_of,
    predicted_stale,
)


class Uncontrolled(NamedTuple):
    """The prices of a replay without a target."""

    unused: float = 0.0

    def count_hit(self, stream: int, group: int, t: float) -> None:
        """Count a hit of a copy at t."""

    def count_validation(self, stream: int, group: int, t: float, changed: bool) -> None:
        """Count a validation of a copy at t."""

    def set_price(self, stream: int, group: int, t: float, updates_per_s: float) -> float:  # noqa: ARG002
        """Return the price in force for a copy that is current at t; NaN: the policy's own."""
        return math.nan


class Controlled(NamedTuple):
    """The control of each group, and what it needs of the copy of each stream, as columns."""

    target: float
    current_s: FloatArray
    """(streams,) when the copy was current; the next three are `CopyControl` and the stale hits predicted since."""
    updates_per_s: FloatArray
    log_price: NDArray[np.int64]
    predicted: NDArray[np.int64]
    sums: NDArray[np.int64]
    """(groups, periods, sums) as the rows of `GroupSums`."""
    latest: NDArray[np.int64]
    """(groups,) the latest period."""

    @classmethod
    def nothing(cls, target: float, streams: int, groups: int) -> Self:
        """Return the state before any request."""
        return cls(
            target, np.zeros(streams), np.zeros(streams), np.zeros(streams, dtype=np.int64),
            np.zeros(streams, dtype=np.int64), np.zeros((groups, PERIODS, SUMS), dtype=np.int64),
            np.zeros(groups, dtype=np.int64),
        )

    def count_hit(self, stream: int, group: int, t: float) -> None:
        copy = CopyControl(self.updates_per_s[stream], self.log_price[stream])
        stale = predicted_stale(copy.updates_per_s, t - self.current_s[stream])
        self.predicted[stream] += stale
        add(self.sums[group], self.latest, group, t, of_hits(copy, 1, stale))

    def count_validation(self, stream: int, group: int, t: float, changed: bool) -> None:
        copy = CopyControl(self.updates_per_s[stream], self.log_price[stream])
        passed_s = t - self.current_s[stream]
        add(self.sums[group], self.latest, group, t, of_validation(copy, passed_s, self.predicted[stream], changed))

    def set_price(self, stream: int, group: int, t: float, updates_per_s: float) -> float:
        begin(self.sums[group], self.latest, group, period_of(t))
        in_force = log_price(self.sums[group], self.target)
        self.current_s[stream] = t
        self.updates_per_s[stream] = updates_per_s
        self.log_price[stream] = millionths(in_force)
        self.predicted[stream] = 0
        return math.exp(in_force)


type Control = Uncontrolled | Controlled


def begin(rows: NDArray[np.int64], latest: NDArray[np.int64], group: int, period: int) -> None:
    """Begin a period of a group, not earlier than the latest one."""
    passed = period - latest[group]
    if passed <= 0:
        return
    for age in range(PERIODS - 1, -1, -1):
        for k in range(SUMS):
            rows[age][k] = rows[age - passed][k] if age >= passed else 0
    latest[group] = period


def add(
    rows: NDArray[np.int64], latest: NDArray[np.int64], group: int, t: float, amounts: tuple[int, int, int, int, int]
) -> None:
    """Add amounts to the sums of a group at t, in order of time."""
    begin(rows, latest, group, period_of(t))
    for k in range(SUMS):
        rows[0][k] += amounts[k]
