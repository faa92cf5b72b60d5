"""The update history of one object, as a policy sees it.

Units: times are Unix seconds (UTC, float64, 0 or more); counts are numbers of updates.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at
from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray, IntArray

_NO_BINS: IntArray = np.empty(0, np.intp)
_NO_TIMES: FloatArray = np.empty(0, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The updates u_1 < u_2 < ... of one object, observed since t_0 (`since_s`).

    `times_s` may reach beyond the moment t of a decision; every method reads only updates up to its own limit.
    Two updates at the same instant are one.

    Of a folded hour only the number of updates is kept; all of them are taken to happen at the start of the hour.
    """

    times_s: FloatArray
    """(n,) ascending, distinct: the updates whose time is known."""
    since_s: float
    """t_0: the start of observation, from which on no update is missing."""
    last_modified_s: float | None = None
    """An update before t_0, from a Last-Modified. It is u_n while no later update is known, and is in no count."""
    folded: tuple[tuple[int, int], ...] = field(default=())
    """Updates older than those of `times_s`: (hours since the epoch, count), ascending."""
    memory: UpdateMemory | None = None
    """The memory of what contacts have shown; None where the history is complete, from which it follows."""
    _bins: IntArray = field(init=False, repr=False)
    """(n,) the hour bin of each update, kept because every decision counts by bin."""
    _memories: list[UpdateMemory] = field(init=False, repr=False, default_factory=list)
    """The memory at t_0 and after each update, as far as it has been asked for."""

    def __post_init__(self) -> None:
        bins = (self.times_s % DAY_S // HOUR_S).astype(np.intp) if self.times_s.size else _NO_BINS
        object.__setattr__(self, "_bins", bins)

    @classmethod
    def of(cls, times_s: Iterable[float], since_s: float, last_modified_s: float | None = None,
           folded: Iterable[tuple[int, int]] = (), memory: UpdateMemory | None = None) -> Self:
        """Make a history from updates in any order, with or without repetitions; those before `since_s` are dropped."""
        given = times_s if isinstance(times_s, np.ndarray) else list(times_s)
        times = _NO_TIMES
        if len(given):  # numpy takes as long for none as for a hundred
            times = np.asarray(given, dtype=np.float64)
            times = np.unique(times) if times.size > 1 else times
            times = times[times >= since_s]
        return cls(times, float(since_s), last_modified_s, tuple(sorted(folded)), memory)

    def last_update_s(self, t: float) -> float | None:
        """u_n, the latest update up to t, a Last-Modified included; None if none is known."""
        known = int(self.times_s.searchsorted(t, side="right"))
        if known:
            return float(self.times_s[known - 1])
        for hour, _ in reversed(self.folded):
            if hour * HOUR_S <= t:
                return hour * HOUR_S
        if self.last_modified_s is not None and self.last_modified_s <= t:
            return self.last_modified_s
        return None

    def first_update_s(self, after_s: float, until_s: float) -> float | None:
        """The first update in (after_s, until_s]; None if there is none."""
        for hour, _ in self.folded:
            if after_s < hour * HOUR_S <= until_s:
                return hour * HOUR_S
        first, last = self._between(after_s, until_s)
        return float(self.times_s[first]) if first < last else None

    def latest_s(self, after_s: float, until_s: float, at_most: int) -> list[float]:
        """The last `at_most` updates in (after_s, until_s], descending."""
        first, last = self._between(after_s, until_s)
        latest_s: list[float] = self.times_s[max(first, last - at_most) : last][::-1].tolist()
        for hour, n in reversed(self.folded):
            if after_s < hour * HOUR_S <= until_s:
                latest_s += [hour * HOUR_S] * min(n, at_most - len(latest_s))
        return latest_s

    def count(self, after_s: float, until_s: float) -> int:
        """The number of updates in (after_s, until_s]; after_s <= until_s."""
        first, last = self._between(after_s, until_s)
        return last - first + sum(n for hour, n in self.folded if after_s < hour * HOUR_S <= until_s)

    def counts(self, after_s: float, until_s: float) -> list[int]:
        """The number of updates in (after_s, until_s] for each of the 24 hour bins; after_s <= until_s."""
        first, last = self._between(after_s, until_s)
        counts: list[int] = np.bincount(self._bins[first:last], minlength=BINS).tolist()
        for hour, n in self.folded:
            if after_s < hour * HOUR_S <= until_s:
                counts[hour % BINS] += n
        return counts

    def memory_at(self, t: float) -> UpdateMemory:
        """The memory of the updates, as of the last one up to t; see `memory`."""
        if self.memory is not None:
            # A decision may concern a time before the last update, if the response came from another cache.
            return self.memory if self.memory.at_s <= t else self.memory._replace(at_s=t)
        folded_s = [hour * HOUR_S for hour, n in self.folded for _ in range(n) if hour * HOUR_S <= t]
        seen = len(folded_s) + int(self.times_s.searchsorted(t, side="right"))
        memories = self._memories
        if not memories:
            memories.append(memory_since(self.since_s))
        while len(memories) <= seen:
            n = len(memories) - 1
            update_s = folded_s[n] if n < len(folded_s) else float(self.times_s[n - len(folded_s)])
            memories.append(updated_at(memories[-1], update_s, update_s))
        return memories[seen]

    def _between(self, after_s: float, until_s: float) -> tuple[int, int]:
        """The slice of `times_s` in (after_s, until_s]: the first index, and the index after the last."""
        first, last = self.times_s.searchsorted((after_s, until_s), side="right").tolist()
        return first, max(first, last)
