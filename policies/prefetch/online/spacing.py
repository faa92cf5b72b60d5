"""Online refreshing at regular intervals: each object has due dates, and may be refreshed a little around them.

There is one contact to spend at a time, and due dates of many objects do not come evenly, so some must be missed. What
it costs to miss one by a given time is the larger, the shorter the interval. So each due date has a window around it, a
fixed part of the interval; the object whose window closes first is refreshed next, and those that are refreshed rarely
give way. (Where few objects take a large share of the contacts, going by the due date alone was measured to lose two to
fourteen times as much.)

Regular spacing is worth more than which good set of frequencies is used, so an object that is refreshed early or late
keeps its rhythm: its next due date follows the last due date, not the moment of the refresh.

Source: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", section 4.1: the fixed order, here with
a frequency for each object; the windows are ours (earliest deadline first, of those released).
"""

import heapq
import math
from collections.abc import Iterable

from bestbefore.policies.units import HOUR_S

WINDOW = 0.05
"""How far around a due date its window reaches, in intervals. From 0.02 to 0.2 little depends on it."""
MOST_ENTRIES = 3
"""Entries kept for each object, outdated ones included."""
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
"""The multiples of it, less whole numbers, lie evenly in (0, 1), however many are taken and of whatever objects."""


class DueDates:
    """The due dates of objects 0 to n-1. Costs O(n) to make, and O(log n) a refresh or change of frequency."""

    def __init__(self, refreshes_per_hour: Iterable[float], now_s: float) -> None:
        """The first due dates are spread over one interval of each object; frequency 0: never due."""
        self._spacing_s = [_spacing_s(frequency) for frequency in refreshes_per_hour]
        self._due_s = [math.inf] * len(self._spacing_s)
        self._closed: list[tuple[float, int, float]] = []
        """A heap of windows to come: when it opens, the object, its due date."""
        self._open: list[tuple[float, int, float]] = []
        """A heap of windows that have opened: when it closes, the object, its due date."""
        for number, spacing_s in enumerate(self._spacing_s):
            if spacing_s < math.inf:
                self._set_due(number, now_s + _phase(number) * spacing_s)

    def take(self, now_s: float) -> int | None:
        """The object to refresh at now_s; None if none is ever due. It is taken as refreshed.

        Of open windows the one that closes first, else the one that opens first; of equal ones, the lowest number. Of
        an object that is late by an interval or more, what was missed is not made up for.
        """
        while self._closed and self._closed[0][0] <= now_s:
            _, number, due_s = heapq.heappop(self._closed)
            heapq.heappush(self._open, (due_s + WINDOW * self._spacing_s[number], number, due_s))
        for windows in (self._open, self._closed):
            while windows:
                _, number, due_s = heapq.heappop(windows)
                if due_s == self._due_s[number]:  # else the object has been given another one since
                    following_s = due_s + self._spacing_s[number]
                    self._set_due(number, following_s if following_s > now_s else now_s + self._spacing_s[number])
                    return number
        return None

    def set_frequency(self, number: int, refreshes_per_hour: float, now_s: float) -> None:
        """Refresh an object more or less often from now on: what is left of its interval shrinks or grows likewise."""
        before_s, spacing_s = self._spacing_s[number], _spacing_s(refreshes_per_hour)
        left = max((self._due_s[number] - now_s) / before_s, 0.0) if before_s < math.inf else _phase(number)
        self._spacing_s[number] = spacing_s
        if spacing_s < math.inf:
            self._set_due(number, now_s + left * spacing_s)
        else:
            self._due_s[number] = math.inf
        if len(self._closed) + len(self._open) > MOST_ENTRIES * len(self._due_s):
            self._forget_outdated()

    def _forget_outdated(self) -> None:
        """Drop the entries of objects that have been given other due dates since."""
        for windows in (self._closed, self._open):
            windows[:] = {window for window in windows if window[2] == self._due_s[window[1]]}
            heapq.heapify(windows)

    def _set_due(self, number: int, due_s: float) -> None:
        self._due_s[number] = due_s
        heapq.heappush(self._closed, (due_s - WINDOW * self._spacing_s[number], number, due_s))


def _phase(number: int) -> float:
    """Return where in its first interval an object is first due, in (0, 1)."""
    return (number + 1) * GOLDEN % 1.0


def _spacing_s(refreshes_per_hour: float) -> float:
    if not 0.0 <= refreshes_per_hour < math.inf:
        raise ValueError(f"{refreshes_per_hour} refreshes per hour, expected 0 or more")
    return HOUR_S / refreshes_per_hour if refreshes_per_hour > 0.0 else math.inf
