"""The evaluation of policies on a trace in parts: each part is replayed in each setting by one worker, and summed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bestbefore.replay.evaluation.case import Case
from bestbefore.replay.evaluation.evaluation import Counted, Setting, SettingCounts, SettingReplay, keep
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.evaluation.offline_bound import OfflineBound
from bestbefore.replay.parted.manifest import PartedTrace
from bestbefore.replay.parted.reading import read_part
from bestbefore.replay.parted.replaying import total
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.selection import requests_of, updates_of

Work = Callable[[Callable[[Any], Any], Sequence[Any]], AbstractContextManager[Iterator[tuple[int, Any]]]]
"""A map of a function over arguments in processes or on machines, as `DaskCluster.map`."""


@dataclass(frozen=True, slots=True)
class PartTotals:
    """What is known of the events of one or all parts that are evaluated."""

    requests: int
    updates: int
    tested: int
    """The number of requests at or after the test start."""
    first_s: float
    """The time of the first request; infinite without any."""

    @classmethod
    def of_all(cls, parts: Sequence["PartTotals"]) -> "PartTotals":
        """Add the totals of parts."""
        return cls(
            sum(one.requests for one in parts), sum(one.updates for one in parts), sum(one.tested for one in parts),
            min((one.first_s for one in parts), default=np.inf),
        )


@dataclass(frozen=True, slots=True)
class PartCases:
    """The parts of a trace as cases; also the function that counts their events."""

    trace: PartedTrace
    folder: Path
    """The folder of the trace, the same on all machines."""
    case: Case
    """The conditions that all parts have, without events."""
    half: Half

    def of(self, number: int) -> Case:
        """Read a part. Raises TraceError."""
        updates, requests = read_part(self.trace, self.folder, number)
        if self.half is not Half.ALL:
            names = {name for name in (*updates.objects, *requests.objects) if self.half.has(name)}
            updates, requests = updates_of(updates, names), requests_of(requests, names)
        origin_s = self.case.origin_s
        return replace(self.case, updates=updates.since(origin_s), requests=requests.since(origin_s))

    def __call__(self, number: int) -> PartTotals:
        """Count the events of a part. Raises TraceError."""
        case = self.of(number)
        times_s = case.requests.times_s
        first_s = float(times_s[0]) if len(times_s) else np.inf
        return PartTotals(len(times_s), len(case.updates), len(case.requests.since(case.test_start_s)), first_s)


@dataclass(frozen=True, slots=True)
class PartSetting:
    """The function that a worker evaluates for a part and a setting, each by number."""

    cases: PartCases
    settings: Sequence[Setting]
    """With cases without events."""
    replay: SettingReplay

    def __call__(self, asked: tuple[int, int]) -> Counted | None:
        """Return the counts; None if no request of the part is replayed. Raises TraceError."""
        part, place = asked
        setting = self.settings[place]._replace(case=replace(self.cases.of(part), first_s=self.cases.case.first_s))
        if not len(setting.case.requests) or not len(setting.case.scenario(setting.cache, setting.known).requests):
            return None
        return self.replay(setting)


def evaluated_parts(
    function: PartSetting, work: Work, watch: Callable[[Iterator[Any]], Iterator[Any]]
) -> list[SettingCounts]:
    """Return the counts of each setting over all parts. What is finished is kept, if `function` has a file for it."""
    parts = function.cases.trace.parts
    largest_first = sorted(range(len(parts)), key=lambda number: -parts[number].request_rows)
    asked = [(part, place) for part in largest_first for place in range(len(function.settings))]
    found: list[list[SettingCounts]] = [[] for _ in function.settings]
    with work(function, asked) as values:
        for number, counted in watch(values):
            if counted is not None:
                identity, new, counts = counted
                keep(function.replay.finished, identity, new)
                found[asked[number][1]].append(counts)
    return [summed(counts) for counts in found]


def summed(parts: Sequence[SettingCounts]) -> SettingCounts:
    """Sum the counts of one or more parts in a setting."""
    rows: Mapping[str, Any] = {
        name: [total([part.rows[name][place] for part in parts]) for place in range(len(points))]
        for name, points in parts[0].rows.items()
    }
    held = {
        target: (sum(part.held[target][0] for part in parts), sum(part.held[target][1] for part in parts))
        for target in parts[0].held
    }
    return SettingCounts(
        rows, total([part.oracle for part in parts]), OfflineBound.total([part.bound for part in parts]), held,
        sum(part.replayed for part in parts),
    )


def without_events() -> tuple[Updates, Requests]:
    """Return the events of a case that stands for the parts."""
    nothing, none = np.empty(0), np.empty(0, dtype=np.int32)
    return Updates.of(nothing, none, ()), Requests.of(nothing, none, none, (), ())
