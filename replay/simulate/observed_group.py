"""The group of observed histories, whose counts grow with each contact."""

from bisect import bisect_left
from dataclasses import replace

from bestbefore.addon.engine.learning import Record, RecordChange
from bestbefore.addon.engine.update import hour_of
from bestbefore.policies.models.group import Group, Tally
from bestbefore.policies.models.hazard.clock import is_weekend
from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates
from bestbefore.policies.units import BINS, HOUR_S


class ObservedGroup:
    """A group to which observations are added, with counts by hour as in the live proxy.

    `group` equals `Group.of_hours` of the same counts; it is updated in place, since making it again after each contact
    that found a change would be slow.
    """

    def __init__(self) -> None:
        self._by_bin = [_Growing() for _ in range(BINS)]
        self._weekend = _Growing()
        self._starts: dict[float, int] = {}
        self._rates = NO_RATES
        self.group = self._made()

    def add(self, before: Record | None, learnt: RecordChange) -> None:
        """Count the updates of an observation. A replay, unlike the live proxy, never has to withdraw updates."""
        for point_s in learnt.new_updates_s:
            hour = hour_of(point_s)
            self._by_bin[hour % BINS].count(hour * HOUR_S)
            if is_weekend(hour * HOUR_S):
                self._weekend.count(hour * HOUR_S)
        lost = NO_RATES if before is None else rates_of(before)
        self._rates = self._rates.plus(rates_of(learnt.record)).plus(lost.negative())
        if learnt.new_since_s is not None:
            start_s = hour_of(learnt.new_since_s) * HOUR_S
            self._starts[start_s] = self._starts.get(start_s, 0) + 1
            self.group = self._made()
        elif self._rates != self.group.rates:
            self.group = replace(self.group, rates=self._rates)

    def _made(self) -> Group:
        group = Group.of_tallies(HOURLY_S, tuple(growing.tally for growing in self._by_bin), self._starts)
        return replace(group, weekend=self._weekend.tally, rates=self._rates)


def rates_of(record: Record) -> MemberRates:
    """The contribution of a record to the rates of its group."""
    return NO_RATES if record.interval_micronats is None else MemberRates(1, record.interval_micronats)


class _Growing:
    """A tally to which events are added in place."""

    def __init__(self) -> None:
        self._moments_s: list[float] = []
        self._totals: list[int] = [0]
        self.tally = Tally(self._moments_s, self._totals)

    def count(self, moment_s: float) -> None:
        moments_s, totals = self._moments_s, self._totals
        at = bisect_left(moments_s, moment_s)
        if at == len(moments_s) or moments_s[at] != moment_s:
            moments_s.insert(at, moment_s)
            totals.insert(at + 1, totals[at])
        for later in range(at + 1, len(totals)):  # few, since new updates are mostly recent
            totals[later] += 1
