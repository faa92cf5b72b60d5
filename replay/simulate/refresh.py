"""Refreshing without requests, for mailboxes and feeds: an object is fetched whenever the policy's expiry is reached.

Source: Bright, Gal, Raschid, section 5.2.2 (their mailboxes); the delay is that of Sia, Cho, Cho, definition 1.
"""

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Self

from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Policy
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.simulate.counts import RefreshCounts
from bestbefore.replay.simulate.history_source import HistorySource
from bestbefore.replay.simulate.observed import ObservedHistories, Warm
from bestbefore.replay.sweeps.progress import Watch
from bestbefore.replay.traces.columns.columns import Updates

TEST_START_AFTER_S = 7 * DAY_S
"""The time from the origin of an object to its test start, unless a test start is given."""


@dataclass(frozen=True, slots=True)
class RefreshScenario:
    """The objects to refresh, the test start of each, and the histories that policies use."""

    known: CompleteHistories
    first_s: Mapping[str, float]
    """The test start of each object."""
    warm: Warm | None
    """The observed history of an object at its test start; None if histories are complete."""
    tells_times: bool = True
    """Whether contacts show when an object last changed, where histories are observed."""

    @classmethod
    def of(
        cls,
        updates: Updates,
        *,
        origin_s: float | None = None,
        test_start_s: float | None = None,
        grouping: Grouping = Grouping.ALL,
        warm: Warm | None = None,
        warn: Callable[[str], None],
    ) -> Self:
        """Make the scenario from a trace.

        The origin of an object is its first update, or `origin_s` for all objects (updates before it are dropped, and
        `warn` is called with one line). Its test start is a week after its origin, or `test_start_s` for all objects,
        but not before its origin. Raises ValueError if the test start lies before the given origin.
        """
        if origin_s is not None:
            if test_start_s is not None and test_start_s < origin_s:
                raise ValueError(
                    f"the test start, {test_start_s:.17g}, must not lie before the origin, {origin_s:.17g}"
                )
            dropped = len(updates) - len(updates.since(origin_s))
            updates = updates.since(origin_s)
            if dropped:
                warn(f"{dropped} updates before the origin, {origin_s:.17g}, dropped")
        histories = {
            name: History(times_s, float(times_s[0]) if origin_s is None else origin_s)
            for name, times_s in sorted(updates.times_by_object().items())
        }
        first_s = {
            name: history.since_s + TEST_START_AFTER_S if test_start_s is None else max(test_start_s, history.since_s)
            for name, history in histories.items()
        }
        if not any(history.times_s[-1] > first_s[name] for name, history in histories.items()):
            warn("no update after the test start")
        return cls(CompleteHistories.of_histories(histories, grouping), first_s, warm)

    def histories_for(self, policy: Policy) -> HistorySource:
        """Return the source of histories for the policy, before the first refresh."""
        if self.warm is None or Needs.FUTURE in policy.needs:
            return self.known
        return ObservedHistories(self.known, tells_times=self.tells_times)

    @property
    def updates(self) -> int:
        """Return the number of updates after the test start of their object."""
        return sum(self.known.history(name).count(t, math.inf) for name, t in self.first_s.items())


@dataclass(slots=True)
class _Object:
    """An object while it is refreshed."""

    name: str
    times: list[float]
    """Its updates, ascending."""
    fetched: int = 0
    """The number of its updates up to the last refresh."""
    verdict: Verdict | None = None
    """The verdict of the last refresh; None before the first one."""
    refreshes: int = 0
    updates: int = 0
    delay_s: float = 0.0
    max_delay_s: float | None = None

    def start(self, t: float) -> None:
        """Make the first refresh; updates before it are not counted."""
        self.fetched = bisect_right(self.times, t)
        self.updates = len(self.times) - self.fetched

    def refresh(self, t: float) -> int:
        """Refresh at t, and return the number of updates found."""
        self.refreshes += 1
        before = self.fetched
        while self.fetched < len(self.times) and self.times[self.fetched] <= t:
            delay_s = t - self.times[self.fetched]
            self.delay_s += delay_s
            if self.fetched == before:  # the oldest update has the longest delay
                self.max_delay_s = delay_s if self.max_delay_s is None else max(delay_s, self.max_delay_s)
            self.fetched += 1
        return self.fetched - before

    def counts(self) -> RefreshCounts:
        unfetched = len(self.times) - self.fetched
        return RefreshCounts(self.refreshes, self.updates, unfetched, self.delay_s, self.max_delay_s)


def refresh_objects(
    scenario: RefreshScenario, policy: Policy, min_interval_s: float, watch: Watch = iter
) -> dict[str, RefreshCounts]:
    """Return the counts of each object that is refreshed at the expiries of the policy.

    Each object is refreshed at its test start, then after a refresh at t next at max(expiry, t + min_interval_s), until
    its last update has been fetched or the expiry is infinite. The progress bar counts fetched updates. Raises
    ValueError if the interval is below the resolution of the times.
    """
    objects = [_Object(name, history.times_s.tolist()) for name, history in scenario.known.histories.items()]
    _check_interval(min_interval_s, max((object_.times[-1] for object_ in objects), default=0.0))
    for _ in watch(_fetched(scenario, policy, min_interval_s, objects)):
        pass
    return {object_.name: object_.counts() for object_ in objects}


def _fetched(
    scenario: RefreshScenario, policy: Policy, min_interval_s: float, objects: Sequence[_Object]
) -> Iterator[None]:
    """Refresh the objects in order of time, and yield once for each fetched update."""
    known = scenario.histories_for(policy)
    due = [(scenario.first_s[object_.name], number) for number, object_ in enumerate(objects)]
    heapq.heapify(due)
    while due:
        t, number = due[0]
        object_ = objects[number]
        outcome = None
        if object_.verdict is None:
            object_.start(t)
            if scenario.warm is Warm.COMPLETE:
                known.report(object_.name, t)
        else:
            found = object_.refresh(t)
            if object_.verdict.state is not None:
                outcome = ContactOutcome(object_.verdict.state, found > 0)
            yield from repeat(None, found)
        history, group = known.contact(object_.name, t)
        if object_.fetched == len(object_.times):
            heapq.heappop(due)
            continue
        object_.verdict = policy.verdict(history, group, t, outcome)
        if math.isinf(object_.verdict.expiry_s):
            heapq.heappop(due)
        else:
            heapq.heapreplace(due, (max(object_.verdict.expiry_s, t + min_interval_s), number))


def _check_interval(min_interval_s: float, latest_s: float) -> None:
    if not latest_s + min_interval_s > latest_s:
        raise ValueError(f"the minimum interval, {min_interval_s:g} s, is too small at the time {latest_s:.17g}")
