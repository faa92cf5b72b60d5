"""Online scheduling at regular intervals: each object has due dates with a window of tolerance around them.

Contacts are made one at a time, and the due dates of many objects are not evenly spaced, so some must be missed. A
delay of a given length costs more, the shorter the interval. Therefore the window around a due date is a fixed share of
the interval; the object whose window closes first is refreshed next, and objects with long intervals wait. (Where few
objects take a large share of the contacts, scheduling by due date alone was measured to lose two to fourteen times as
much.)

Regular spacing matters more than the exact frequencies, so a refresh that is early or late does not shift the rhythm:
the next due date follows the last due date, not the time of the refresh.

Source: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", section 4.1: the fixed order, here with
a frequency for each object; the windows are ours (earliest deadline first, of those released).
"""

import heapq
import math
from collections.abc import Iterable

from bestbefore.policies.units import HOUR_S

WINDOW = 0.05
"""Half the width of a window, as a share of the interval. Between 0.02 and 0.2 results hardly differ."""
MOST_ENTRIES = 3
"""The entries for each object in the heaps, outdated ones included, above which the heaps are rebuilt."""
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
"""The golden ratio: the fractional parts of its multiples are evenly spread in (0, 1) for any number of objects."""


class DueDates:
    """The due dates of objects 0 to n-1. Making costs O(n), a refresh or a change of frequency O(log n)."""

    def __init__(self, refreshes_per_hour: Iterable[float], now_s: float) -> None:
        """Spread the first due dates over one interval of each object; an object with frequency 0 is never due."""
        self._spacing_s = [_spacing_s(frequency) for frequency in refreshes_per_hour]
        self._due_s = [math.inf] * len(self._spacing_s)
        self._closed: list[tuple[float, int, float]] = []
        """A heap of future windows: opening time, object, due date."""
        self._open: list[tuple[float, int, float]] = []
        """A heap of open windows: closing time, object, due date."""
        for number, spacing_s in enumerate(self._spacing_s):
            if spacing_s < math.inf:
                self._set_due(number, now_s + _phase(number) * spacing_s)

    def take(self, now_s: float) -> int | None:
        """Return the object to refresh at `now_s`, which then counts as refreshed; None if no object is ever due.

        The object with the open window that closes first is taken, else the one whose window opens first; among equals
        the lowest number. Due dates missed by an interval or more are skipped.
        """
        while self._closed and self._closed[0][0] <= now_s:
            _, number, due_s = heapq.heappop(self._closed)
            heapq.heappush(self._open, (due_s + WINDOW * self._spacing_s[number], number, due_s))
        for windows in (self._open, self._closed):
            while windows:
                _, number, due_s = heapq.heappop(windows)
                if due_s == self._due_s[number]:  # otherwise the entry is outdated
                    following_s = due_s + self._spacing_s[number]
                    self._set_due(number, following_s if following_s > now_s else now_s + self._spacing_s[number])
                    return number
        return None

    def set_frequency(self, number: int, refreshes_per_hour: float, now_s: float) -> None:
        """Change the frequency of an object; the rest of its current interval is scaled in proportion."""
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
        """Drop outdated entries, those of due dates that were replaced."""
        for windows in (self._closed, self._open):
            windows[:] = {window for window in windows if window[2] == self._due_s[window[1]]}
            heapq.heapify(windows)

    def _set_due(self, number: int, due_s: float) -> None:
        self._due_s[number] = due_s
        heapq.heappush(self._closed, (due_s - WINDOW * self._spacing_s[number], number, due_s))


def _phase(number: int) -> float:
    """Return the first due date of an object as a share of its interval, in (0, 1)."""
    return (number + 1) * GOLDEN % 1.0


def _spacing_s(refreshes_per_hour: float) -> float:
    if not 0.0 <= refreshes_per_hour < math.inf:
        raise ValueError(f"{refreshes_per_hour} refreshes per hour, expected 0 or more")
    return HOUR_S / refreshes_per_hour if refreshes_per_hour > 0.0 else math.inf
