"""The group of observed histories, whose counts grow with each contact."""

from bisect import bisect_left

from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.update import hour_of
from bestbefore.policies.models.group import Group, Tally
from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.units import BINS, HOUR_S


class ObservedGroup:
    """A group to which observations are added, with counts by hour as in the live proxy.

    `group` equals `Group.of_hours` of the same counts; it is updated in place, since making it again after each contact
    that found a change would be slow.
    """

    def __init__(self) -> None:
        self._moments: list[list[float]] = [[] for _ in range(BINS)]
        self._totals: list[list[int]] = [[0] for _ in range(BINS)]
        self._starts: dict[float, int] = {}
        self.group = self._made()

    def add(self, learnt: RecordChange) -> None:
        """Count the updates of an observation. A replay, unlike the live proxy, never has to withdraw updates."""
        for point_s in learnt.new_updates_s:
            self._count(hour_of(point_s))
        if learnt.new_since_s is not None:
            start_s = hour_of(learnt.new_since_s) * HOUR_S
            self._starts[start_s] = self._starts.get(start_s, 0) + 1
            self.group = self._made()

    def _count(self, hour: int) -> None:
        moments, totals = self._moments[hour % BINS], self._totals[hour % BINS]
        at = bisect_left(moments, hour * HOUR_S)
        if at == len(moments) or moments[at] != hour * HOUR_S:
            moments.insert(at, hour * HOUR_S)
            totals.insert(at + 1, totals[at])
        for later in range(at + 1, len(totals)):  # few, since new updates are mostly recent
            totals[later] += 1

    def _made(self) -> Group:
        tallies = tuple(Tally(moments, totals) for moments, totals in zip(self._moments, self._totals, strict=True))
        return Group.of_tallies(HOURLY_S, tallies, self._starts)
